/* SPDX-License-Identifier: MIT */
#include "objfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "debug_paths.h"
#include "debuginfod.h"
#include "hex.h"

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

/* Build ids are 20 bytes as a rule; what is longer has no place in a .build-id folder. */
#define BUILD_ID_MAX 64

struct objfile_search {
	size_t n;
	char **dirs;
	char *debug_path; /* libdwfl's list of folders */
	Dwfl_Callbacks callbacks;
	struct debuginfod debuginfod;
};

/* What libdwfl's callbacks about a module know. */
struct objfile_context {
	struct objfile_search *search;
	Dwfl *dwfl;
};

struct wanted {
	struct objfile_search *search;
	const char *path;
	const char *pinned;
	const uint8_t *build_id;
	size_t build_id_size;
	uint64_t recorded_ns;
	struct notices *notices;
};

/* Sysroots keep debug files below usr/lib/debug, plain folders of debug files do not. */
static char *debug_path_create(const char *const *dirs, size_t n)
{
	char *list = strdup("");

	for (size_t i = 0; i < n && list; i++) {
		char *longer = NULL;

		if (asprintf(&longer, "%s%s%s:%s:", list, dirs[i], SYSTEM_DEBUG_DIR, dirs[i]) < 0)
			longer = NULL;
		free(list);
		list = longer;
	}
	if (list) {
		char *whole = NULL;

		if (asprintf(&whole, "%s:.debug:%s", list, SYSTEM_DEBUG_DIR) < 0)
			whole = NULL;
		free(list);
		list = whole;
	}
	return list;
}

#ifndef HAVE_DEBUGINFOD_CLIENT
/* The descriptor of a server's debug file; -1: there is none. *found: its path, allocated. */
static int fetch_debuginfo(struct objfile_search *search, const struct debug_paths *paths, char **found)
{
	char *path = debuginfod_fetch(&search->debuginfod, DEBUGINFOD_DEBUGINFO, paths->build_id,
				      paths->build_id_size);
	const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		free(path);
	else
		*found = path;
	return fd;
}
#endif

/* libdwfl's own search, unless debug_paths.h knows that it finds nothing. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	const struct objfile_context *context = *userdata;
	struct objfile_search *search = context->search;
	struct debug_paths paths = { .path = search->debug_path, .file = file, .link = link };
	GElf_Addr address;
	int size = dwfl_module_build_id(module, &paths.build_id, &address);

	paths.build_id_size = size > 0 ? (size_t)size : 0;
	if (!debuginfod_is_wanted() && !debug_paths_any(&paths))
		return -1;
#ifdef HAVE_DEBUGINFOD_CLIENT
	if (debuginfod_is_wanted())
		debuginfod_limit(&search->debuginfod, dwfl_get_debuginfod_client(context->dwfl));
#else /* libdwfl of elfutils 0.183 has no limits: our own client asks */
	if (!debug_paths_any(&paths))
		return fetch_debuginfo(search, &paths, found);
#endif
	return dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, crc, found);
}

struct objfile_search *objfile_search_create(const char *const *dirs, size_t n)
{
	struct objfile_search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->dirs = calloc(n + 1, sizeof(*search->dirs));
	search->debug_path = debug_path_create(dirs, n);
	if (!search->dirs || !search->debug_path)
		goto error;
	for (; search->n < n; search->n++) {
		search->dirs[search->n] = strdup(dirs[search->n]);
		if (!search->dirs[search->n])
			goto error;
	}
	search->callbacks.find_elf = dwfl_build_id_find_elf;
	search->callbacks.find_debuginfo = find_debuginfo;
	search->callbacks.section_address = dwfl_offline_section_address;
	search->callbacks.debuginfo_path = &search->debug_path;
	return search;
error:
	objfile_search_destroy(search);
	return NULL;
}

void objfile_search_destroy(struct objfile_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->n; i++)
		free(search->dirs[i]);
	debuginfod_finish(&search->debuginfod);
	free(search->dirs);
	free(search->debug_path);
	free(search);
}

const char *objfile_search_usual(const struct objfile_search *search)
{
	return search->n == 0 ? search->debug_path : NULL;
}

static bool elf_fits(Elf *elf, const char *file, const struct wanted *wanted)
{
	const void *id;
	GElf_Ehdr header;
	ssize_t size;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN)) {
		notices_add(wanted->notices, "%s: not a usable ELF file, not used", file);
		return false;
	}
	if (wanted->build_id_size == 0)
		return true;
	size = dwelf_elf_gnu_build_id(elf, &id);
	if (size < 0 || (size_t)size != wanted->build_id_size ||
	    memcmp(id, wanted->build_id, wanted->build_id_size) != 0) {
		notices_add(wanted->notices, "%s: build id differs from the recorded one, not used", file);
		return false;
	}
	return true;
}

static int file_open(const char *file, const struct wanted *wanted)
{
	struct stat status;
	Elf *elf;
	bool fits;
	int fd;

	/* A recorded path may be anything by now: to open a device can have effects. */
	if (stat(file, &status) != 0 || !S_ISREG(status.st_mode))
		return -1;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		notices_add(wanted->notices, "%s: %m, not used", file);
		return -1;
	}
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	fits = elf_fits(elf, file, wanted);
	elf_end(elf);
	if (!fits) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Takes the file at `place` as the one called `file`. With base 0 the module's addresses in libdwfl are the link-time
 * ones.
 */
static bool place_report(struct objfile *objfile, const char *file, const char *place,
			 const struct wanted *wanted)
{
	int fd = file_open(place, wanted);
	void **userdata;

	if (fd < 0)
		return false;
	objfile->dwfl = dwfl_begin(&wanted->search->callbacks);
	objfile->context = calloc(1, sizeof(*objfile->context));
	if (!objfile->dwfl || !objfile->context) {
		objfile_close(objfile);
		close(fd);
		return false;
	}
	*objfile->context = (struct objfile_context){ wanted->search, objfile->dwfl };
	dwfl_report_begin(objfile->dwfl);
	objfile->module = dwfl_report_elf(objfile->dwfl, file, file, fd, 0, true);
	if (!objfile->module)
		close(fd);
	else if (dwfl_module_info(objfile->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = objfile->context;
	dwfl_report_end(objfile->dwfl, NULL, NULL);
	if (!objfile->module) {
		notices_add(wanted->notices, "%s: %s, not used", file, dwfl_errmsg(-1));
		objfile_close(objfile);
		return false;
	}
	return true;
}

static bool file_report(struct objfile *objfile, const char *file, const struct wanted *wanted)
{
	return place_report(objfile, file, file, wanted);
}

/* The file DIR/RESTSUFFIX. */
static bool joined_report(struct objfile *objfile, const char *dir, const char *rest, const char *suffix,
			  const struct wanted *wanted)
{
	char *file;
	bool found;

	if (asprintf(&file, "%s/%s%s", dir, rest, suffix) < 0)
		return false;
	found = file_report(objfile, file, wanted);
	free(file);
	return found;
}

/* Debug files alone: by build id, then by name. */
static bool debug_file_report(struct objfile *objfile, const char *dir, const struct wanted *wanted)
{
	char rest[2 * BUILD_ID_MAX + sizeof(".build-id//")] = ".build-id/";
	char *end = hex_put(rest + strlen(rest), wanted->build_id, 1);

	*end++ = '/';
	hex_put(end, wanted->build_id + 1, wanted->build_id_size - 1u);
	return joined_report(objfile, dir, rest, "", wanted) ||
	       joined_report(objfile, dir, rest, ".debug", wanted) ||
	       joined_report(objfile, dir, wanted->path + 1, ".debug", wanted);
}

/* A search folder may be a sysroot, or hold debug files itself. */
static bool search_dir_debug_report(struct objfile *objfile, const char *dir, const struct wanted *wanted)
{
	char *debug_dir;
	bool found;

	if (asprintf(&debug_dir, "%s%s", dir, SYSTEM_DEBUG_DIR) < 0)
		return false;
	found = debug_file_report(objfile, dir, wanted) || debug_file_report(objfile, debug_dir, wanted) ||
		joined_report(objfile, dir, strrchr(wanted->path, '/') + 1, ".debug", wanted);
	free(debug_dir);
	return found;
}

static bool fetched_report(struct objfile *objfile, enum debuginfod_what what, const struct wanted *wanted)
{
	char *file =
		debuginfod_fetch(&wanted->search->debuginfod, what, wanted->build_id, wanted->build_id_size);
	bool found = file && file_report(objfile, file, wanted);

	free(file);
	return found;
}

/* A file without a build id that is younger than the recording may be another one, or a copy. */
static void notice_age(const struct wanted *wanted)
{
	struct stat status;

	if (wanted->build_id_size == 0 && wanted->recorded_ns != 0 && stat(wanted->path, &status) == 0 &&
	    (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec >
		    wanted->recorded_ns)
		notices_add(
			wanted->notices,
			"%s: has no build id and was written after it was recorded, its names may be wrong",
			wanted->path);
}

static bool path_report(struct objfile *objfile, const struct wanted *wanted)
{
	if (wanted->pinned)
		return place_report(objfile, wanted->path, wanted->pinned, wanted);
	if (!file_report(objfile, wanted->path, wanted))
		return false;
	notice_age(wanted);
	return true;
}

static bool module_report(struct objfile *objfile, const struct wanted *wanted)
{
	const struct objfile_search *search = wanted->search;
	const char *base = strrchr(wanted->path, '/') + 1;

	for (size_t i = 0; i < search->n; i++)
		if (joined_report(objfile, search->dirs[i], wanted->path + 1, "", wanted) ||
		    joined_report(objfile, search->dirs[i], base, "", wanted))
			return true;
	if (path_report(objfile, wanted))
		return true;
	if (wanted->build_id_size < 2 || wanted->build_id_size > BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < search->n; i++)
		if (search_dir_debug_report(objfile, search->dirs[i], wanted))
			return true;
	return debug_file_report(objfile, SYSTEM_DEBUG_DIR, wanted) ||
	       fetched_report(objfile, DEBUGINFOD_EXECUTABLE, wanted) ||
	       fetched_report(objfile, DEBUGINFOD_DEBUGINFO, wanted);
}

bool objfile_open(struct objfile *objfile, struct objfile_search *search, const struct objfile_name *name,
		  struct notices *notices)
{
	const struct wanted wanted = {
		search,  name->path, name->pinned, name->build_id, name->build_id_size, name->recorded_ns,
		notices,
	};
	const char *path = name->path;
	size_t before = notices->n;

	*objfile = (struct objfile){ .dwfl = NULL };
	elf_version(EV_CURRENT);
	if (path[0] != '/')
		return name->pinned && place_report(objfile, path, name->pinned, &wanted);
	if (module_report(objfile, &wanted))
		return true;
	if (notices->n == before)
		notices_add(notices, "%s: not found, its functions have no names", path);
	return false;
}

void objfile_search_note(const struct objfile_search *search, struct notices *notices)
{
	if (search->debuginfod.gave_up)
		notices_add(notices, "debuginfod: an answer was too large or too slow (DEBUGINFOD_MAXSIZE, "
				     "DEBUGINFOD_MAXTIME), servers are asked no more");
}

void objfile_close(struct objfile *objfile)
{
	if (objfile->dwfl)
		dwfl_end(objfile->dwfl);
	free(objfile->context);
	*objfile = (struct objfile){ .dwfl = NULL };
}
