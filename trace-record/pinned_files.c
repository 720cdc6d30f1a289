/* SPDX-License-Identifier: MIT */
#include "pinned_files.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elf.h>

#include "array.h"

/* Descriptors left for everything else. */
#define FDS_SPARED 128

#define SELF "/proc/self/"

/* Linux appends this to the name of a deleted file. */
#define DELETED " (deleted)"

struct pinned_file {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* ---- opening ---- */

static int open_regular(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fd < sysconf(_SC_OPEN_MAX) - FDS_SPARED))
		return fd;
	close(fd);
	return -1;
}

/* The file that is mapped at an address, with or without a name. */
static int open_mapped(pid_t pid, uint64_t address)
{
	char path[128], *line = NULL;
	unsigned long start, end;
	size_t size = 0;
	int fd = -1;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || address < start || address >= end)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid, start, end);
		fd = open_regular(path);
		break;
	}
	free(line);
	if (maps)
		fclose(maps);
	return fd;
}

/* The vDSO has no file: copies msrec's own, which is the same. */
static int open_vdso(void)
{
	const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	size_t size;
	int fd;

	if (!image)
		return -1;
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, image, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Names below /proc/self are the recorded process's. */
static int open_named(pid_t pid, const char *name)
{
	char *path;
	int fd;

	if (strncmp(name, SELF, strlen(SELF)) != 0)
		return name[0] == '/' ? open_regular(name) : -1;
	if (asprintf(&path, "/proc/%d/%s", (int)pid, name + strlen(SELF)) < 0)
		return -1;
	fd = open_regular(path);
	free(path);
	return fd;
}

/* Whether a process runs the file of that path, which may be gone. */
static bool runs(const char *link, const char *path)
{
	char *text = malloc(PATH_MAX);
	const ssize_t n = text ? readlink(link, text, PATH_MAX - 1) : -1;
	const size_t length = strlen(path);
	bool same = false;

	if (n >= 0) {
		text[n] = 0;
		same = strncmp(text, path, length) == 0 &&
		       (!text[length] || strcmp(text + length, DELETED) == 0);
	}
	free(text);
	return same;
}

/* The executable, even if its file is gone. The process that runs it may execute another one meanwhile. */
static int open_executable(pid_t pid, const char *path)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	fd = open_regular(link);
	if (fd < 0 || runs(link, path))
		return fd;
	close(fd);
	return -1;
}

static int open_module(pid_t pid, const struct mst_module *module)
{
	int fd = -1;

	if (module->role == MST_MODULE_VDSO)
		return open_vdso();
	if (module->role == MST_MODULE_EXECUTABLE)
		fd = open_executable(pid, module->path);
	if (fd < 0)
		fd = open_named(pid, module->path);
	return fd < 0 ? open_mapped(pid, module->start) : fd;
}

/* ---- pinning ---- */

static struct pinned_file pin(pid_t pid, const struct mst_module *module)
{
	struct pinned_file file = { .fd = open_module(pid, module) };
	struct stat st;

	if (file.fd >= 0 && fstat(file.fd, &st) == 0) {
		file.dev = st.st_dev;
		file.ino = st.st_ino;
	}
	return file;
}

void pinned_files_look(struct pinned_files *pinned_files, const struct mst_writer *writer, pid_t pid)
{
	uint32_t n;
	const struct mst_module *modules = mst_writer_modules(writer, &n);

	assert(pinned_files->n <= n);
	for (; pinned_files->n < n; pinned_files->n++) {
		if (!array_reserve(&pinned_files->files, pinned_files->n, &pinned_files->capacity,
				   sizeof(*pinned_files->files)))
			return;
		pinned_files->files[pinned_files->n] = pin(pid, &modules[pinned_files->n]);
	}
}

void pinned_files_finish(struct pinned_files *pinned_files)
{
	for (uint32_t i = 0; i < pinned_files->n; i++)
		if (pinned_files->files[i].fd >= 0)
			close(pinned_files->files[i].fd);
	free(pinned_files->files);
	*pinned_files = (struct pinned_files){ 0 };
}

int pinned_files_fd(const struct pinned_files *pinned_files, uint32_t module)
{
	return module < pinned_files->n ? pinned_files->files[module].fd : -1;
}

enum pinned_state pinned_files_state(const struct pinned_files *pinned_files, uint32_t module,
				     const char *path)
{
	struct stat st;

	if (pinned_files_fd(pinned_files, module) < 0)
		return PINNED_SAME;
	if (strncmp(path, "/proc/", strlen("/proc/")) == 0 || stat(path, &st) != 0)
		return PINNED_DELETED;
	return st.st_dev == pinned_files->files[module].dev && st.st_ino == pinned_files->files[module].ino
		       ? PINNED_SAME
		       : PINNED_REPLACED;
}
