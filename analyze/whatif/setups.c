/* SPDX-License-Identifier: MIT */
#include "setups.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "duration.h"

static const struct known {
	const char *name;
	const char *files[4];    /* of which the first one that is there is taken */
	const char *prefixes[4]; /* of variables */
	const char *stem;        /* of its library's name, whatever version it is of */
} known[] = {
	[ALLOCATOR_GLIBC] = { "glibc",
			      { NULL },
			      { "MALLOC_", "GLIBC_TUNABLES", "malloc_trim", NULL },
			      "libc.so" },
	[ALLOCATOR_JEMALLOC] = { "jemalloc",
				 { "libjemalloc.so.2", "libjemalloc.so", NULL },
				 { "MALLOC_CONF", "_RJEM_MALLOC_CONF", NULL },
				 "libjemalloc" },
	[ALLOCATOR_TCMALLOC] = { "tcmalloc",
				 { "libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so",
				   NULL },
				 { "TCMALLOC_", NULL },
				 "libtcmalloc" },
	[ALLOCATOR_MIMALLOC] = { "mimalloc",
				 { "libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so", NULL },
				 { "MIMALLOC_", NULL },
				 "libmimalloc" },
};

static const char *const folders[] = {
	"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64",
	"/usr/lib"
};

/* ---- Libraries ---- */

/* The path of a file in a folder of `length` bytes, if it is there; to be freed. */
static char *find_in(const char *folder, size_t length, const char *file)
{
	char *path;
	if (length == 0 || asprintf(&path, "%.*s/%s", (int)length, folder, file) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* First where the user says that libraries are. */
static char *find_library(const char *file)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	char *found = NULL;
	for (; path && *path && !found; path += strspn(path, ":")) {
		const size_t n = strcspn(path, ":");
		found = find_in(path, n, file);
		path += n;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !found; i++)
		found = find_in(folders[i], strlen(folders[i]), file);
	return found;
}

static char *find_allocator(const struct known *allocator)
{
	char *path = NULL;
	for (const char *const *file = allocator->files; *file && !path; file++)
		path = find_library(*file);
	return path;
}

/* Symbols are looked up in load order, so of several libraries with malloc() the first one serves the program. */
enum allocator_family setups_find_own(const struct mst_module *modules, uint32_t n)
{
	enum allocator_family first = ALLOCATOR_GLIBC;
	uint32_t order = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++) {
		const char *slash = strrchr(modules[i].path, '/');
		const char *name = slash ? slash + 1 : modules[i].path;
		for (unsigned k = 0; k < ALLOCATOR_FILE; k++) {
			if (strncmp(name, known[k].stem, strlen(known[k].stem)) != 0 ||
			    modules[i].order >= order)
				continue;
			order = modules[i].order;
			first = (enum allocator_family)k;
		}
	}
	return first;
}

const char *setups_name(enum allocator_family family)
{
	return known[family].name;
}

/* ---- The list ---- */

static void finish_setup(struct setup *s)
{
	for (size_t i = 0; i < s->n_variables; i++)
		free(s->variables[i]);
	free(s->variables);
	free(s->name);
	free(s->library);
	free(s->settings);
}

/* The list owns the setup's texts from here on, also on failure. */
static enum setups_result append(struct setups *setups, struct setup *setup)
{
	if (setup->name && setup->settings &&
	    array_reserve(&setups->items, setups->n, &setups->room, sizeof(*setups->items))) {
		setups->items[setups->n++] = *setup;
		return SETUPS_FINE;
	}
	finish_setup(setup);
	return SETUPS_NO_MEMORY;
}

/* An allocator that can't be preloaded would be glibc, and the loader's message one of many lines. */
static bool is_library(const char *path)
{
	Elf64_Ehdr head;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const bool whole = fd >= 0 && read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head);
	if (fd >= 0)
		close(fd);
	return whole && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       head.e_type == ET_DYN && head.e_machine == EM_X86_64;
}

static enum setups_result add_file(struct setups *setups, const char *path)
{
	struct setup setup = { .family = ALLOCATOR_FILE,
			       .library = realpath(path, NULL),
			       .settings = strdup("") };
	const char *slash = strrchr(path, '/');
	if (!setup.library) {
		free(setup.settings);
		return SETUPS_ABSENT;
	}
	if (!is_library(setup.library)) {
		finish_setup(&setup);
		return SETUPS_NO_LIBRARY;
	}
	setup.name = strdup(slash ? slash + 1 : path);
	return append(setups, &setup);
}

enum setups_result setups_add(struct setups *setups, const char *name)
{
	if (strchr(name, '/'))
		return add_file(setups, name);
	for (unsigned i = 0; i < ALLOCATOR_FILE; i++) {
		struct setup setup = { .family = (enum allocator_family)i };
		if (strcmp(known[i].name, name) != 0)
			continue;
		if (i != ALLOCATOR_GLIBC && !(setup.library = find_allocator(&known[i])))
			return SETUPS_ABSENT;
		setup.name = strdup(name);
		setup.settings = strdup("");
		return append(setups, &setup);
	}
	return SETUPS_UNKNOWN;
}

/* False: no memory. */
static bool note_missing(struct setups *setups, const char *name)
{
	char *text;
	if (asprintf(&text, "%s%s%s", setups->missing ? setups->missing : "", setups->missing ? ", " : "",
		     name) < 0)
		return false;
	free(setups->missing);
	setups->missing = text;
	return true;
}

enum setups_result setups_add_known(struct setups *setups)
{
	enum setups_result result = SETUPS_FINE;
	for (unsigned n = 0; n < ALLOCATOR_FILE && result == SETUPS_FINE; n++) {
		const unsigned own = (unsigned)setups->own, i = n == 0 ? own : n <= own ? n - 1 : n;
		result = setups_add(setups, known[i].name);
		if (result == SETUPS_ABSENT)
			result = note_missing(setups, known[i].name) ? SETUPS_FINE : SETUPS_NO_MEMORY;
	}
	return result;
}

/* ---- Settings ---- */

/* The allocator that reads a variable; ALLOCATOR_FILE: not known. */
static enum allocator_family family_of(const char *word)
{
	for (unsigned i = ALLOCATOR_JEMALLOC; i < ALLOCATOR_FILE; i++) {
		for (const char *const *prefix = known[i].prefixes; *prefix; prefix++) {
			if (strncmp(word, *prefix, strlen(*prefix)) == 0)
				return (enum allocator_family)i;
		}
	}
	for (const char *const *prefix = known[ALLOCATOR_GLIBC].prefixes; *prefix; prefix++) {
		if (strncmp(word, *prefix, strlen(*prefix)) == 0)
			return ALLOCATOR_GLIBC;
	}
	return ALLOCATOR_FILE;
}

static enum setups_result add_word(struct setup *setup, const char *word, size_t n)
{
	static const char trim[] = "malloc_trim=";
	char *copy = strndup(word, n);
	if (!copy)
		return SETUPS_NO_MEMORY;
	if (strncmp(copy, trim, strlen(trim)) == 0) {
		const bool fine = duration_parse(copy + strlen(trim), &setup->trim_ns) && setup->trim_ns;
		free(copy);
		return fine ? SETUPS_FINE : SETUPS_SETTINGS;
	}
	if (strncmp(copy, "LD_PRELOAD=", 11) == 0) {
		free(copy);
		return SETUPS_PRELOAD;
	}
	char **grown = reallocarray(setup->variables, setup->n_variables + 1, sizeof(*grown));
	if (!grown || copy[0] == '=' || !strchr(copy, '=')) {
		setup->variables = grown ? grown : setup->variables;
		free(copy);
		return grown ? SETUPS_SETTINGS : SETUPS_NO_MEMORY;
	}
	setup->variables = grown;
	grown[setup->n_variables++] = copy;
	return SETUPS_FINE;
}

/* `base` with settings. */
static enum setups_result add_variant(struct setups *setups, const struct setup *base, const char *words)
{
	struct setup setup = {
		.family = base->family,
		.name = strdup(base->name),
		.library = base->library ? strdup(base->library) : NULL,
		.settings = strdup(words),
	};
	enum setups_result result = base->library && !setup.library ? SETUPS_NO_MEMORY : SETUPS_FINE;
	for (const char *at = words; *at && result == SETUPS_FINE; at += strspn(at, " ")) {
		const size_t n = strcspn(at, " ");
		result = add_word(&setup, at, n);
		at += n;
	}
	if (result == SETUPS_FINE)
		return append(setups, &setup);
	finish_setup(&setup);
	return result;
}

enum setups_result setups_add_settings(struct setups *setups, const char *words)
{
	const size_t n = setups->n;
	const enum allocator_family family = family_of(words);
	enum setups_result result = *words ? SETUPS_FINE : SETUPS_SETTINGS;
	bool added = false;
	for (size_t i = 0; i < n && result == SETUPS_FINE; i++) {
		const struct setup base = setups->items[i];
		if (*base.settings || (base.family != family && family != ALLOCATOR_FILE))
			continue;
		result = add_variant(setups, &base, words);
		added = true;
	}
	return result == SETUPS_FINE && !added ? SETUPS_NONE : result;
}

/* glibc's documented variables. */
static bool is_of_glibc(const char *word, size_t n)
{
	static const char *const names[] = { "MALLOC_ARENA_MAX",       "MALLOC_ARENA_TEST", "MALLOC_CHECK_",
					     "MALLOC_MMAP_MAX_",       "MALLOC_PERTURB_",   "MALLOC_TOP_PAD_",
					     "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES",    "malloc_trim",
					     "MALLOC_TRIM_THRESHOLD_" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i]) == n && strncmp(names[i], word, n) == 0)
			return true;
	}
	return false;
}

const char *setups_unread(const char *words, char *name, size_t room)
{
	for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
		const size_t n = strcspn(at, " ="), whole = strcspn(at, " ");
		const enum allocator_family family = family_of(at);
		const bool read = family == ALLOCATOR_GLIBC ? is_of_glibc(at, n) : family != ALLOCATOR_FILE;
		if (!read)
			snprintf(name, room, "%.*s", (int)(n < room ? n : room), at);
		at += whole;
		if (!read)
			return at;
	}
	return NULL;
}

/* As strtoull() reads it. */
static bool is_number(const char *text, size_t n)
{
	char *end;
	errno = 0;
	return (strtoull(text, &end, 0) || errno == 0) && n > 0 && end == text + n;
}

const char *setups_no_number(const char *words, char *name, size_t room)
{
	for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
		const size_t n = strcspn(at, " ="), whole = strcspn(at, " ");
		const char *value = at + n + (at[n] == '=');
		const bool wrong = strncmp(at, "MALLOC_", 7) == 0 && is_of_glibc(at, n) &&
				   !is_number(value, whole - (size_t)(value - at));
		if (wrong)
			snprintf(name, room, "%.*s", (int)(n < room ? n : room), at);
		at += whole;
		if (wrong)
			return at;
	}
	return NULL;
}

struct usual {
	const char *words;
	bool threads; /* only where several threads make calls */
	bool sweep;   /* only in a sweep, */
	bool own;     /* or where it is of the program's own allocator */
};

/* The documented variables of each allocator. */
static const struct usual usual[] = {
	{ "MALLOC_ARENA_MAX=1", true, false, false },
	{ "MALLOC_ARENA_MAX=2", true, true, false },
	{ "MALLOC_ARENA_MAX=4", true, true, false },
	{ "MALLOC_TRIM_THRESHOLD_=131072", false, false, false },
	{ "MALLOC_TRIM_THRESHOLD_=0", false, true, false },
	{ "MALLOC_MMAP_THRESHOLD_=131072", false, true, false },
	{ "MALLOC_MMAP_THRESHOLD_=32768", false, true, false },
	{ "MALLOC_MMAP_THRESHOLD_=4194304 MALLOC_TRIM_THRESHOLD_=131072", false, true, false },
	{ "MALLOC_TOP_PAD_=0", false, true, false },
	{ "MALLOC_TOP_PAD_=1048576", false, true, false },
	{ "GLIBC_TUNABLES=glibc.malloc.tcache_count=0", false, true, false },
	{ "MALLOC_CONF=narenas:1", true, true, true },
	{ "MALLOC_CONF=narenas:2", true, true, false },
	{ "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0", false, true, true },
	{ "MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0", false, true, true },
	{ "MALLOC_CONF=tcache:false", false, true, false },
	{ "TCMALLOC_RELEASE_RATE=10", false, true, false },
	{ "TCMALLOC_AGGRESSIVE_DECOMMIT=1", false, true, true },
	{ "MIMALLOC_RESET_DELAY=0 MIMALLOC_PURGE_DELAY=0", false, true, true },
	{ "MIMALLOC_EAGER_COMMIT=0", false, true, false },
};

/* malloc_trim() some ten times a run, at a round interval of at most ten seconds. */
static enum setups_result add_trim(struct setups *setups, uint64_t ns)
{
	char words[48];
	uint64_t us = 1000;
	for (unsigned i = 0; us * 1000 * 10 < ns && us < 10000000; i++)
		us = i % 3 == 1 ? us / 2 * 5 : us * 2; /* 1, 2, 5, 10 ... */
	if (us % 1000000 == 0)
		snprintf(words, sizeof(words), "malloc_trim=%us", (unsigned)(us / 1000000));
	else
		snprintf(words, sizeof(words), "malloc_trim=%ums", (unsigned)(us / 1000));
	return setups_add_settings(setups, words);
}

enum setups_result setups_add_usual(struct setups *setups, uint32_t threads, uint64_t ns, bool sweep)
{
	enum setups_result result = add_trim(setups, ns);
	if (result == SETUPS_NONE)
		result = SETUPS_FINE;
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual) && result == SETUPS_FINE; i++) {
		const bool own = usual[i].own && family_of(usual[i].words) == setups->own;
		if ((usual[i].threads && threads < 2) || (usual[i].sweep && !sweep && !own))
			continue;
		result = setups_add_settings(setups, usual[i].words);
		if (result == SETUPS_NONE)
			result = SETUPS_FINE;
	}
	return result;
}

bool setup_is_like(const struct setup *a, const struct setup *b)
{
	return a->library && b->library ? strcmp(a->library, b->library) == 0 : a->library == b->library;
}

void setups_finish(struct setups *setups)
{
	for (size_t i = 0; i < setups->n; i++)
		finish_setup(&setups->items[i]);
	free(setups->items);
	free(setups->missing);
	*setups = (struct setups){ 0 };
}
