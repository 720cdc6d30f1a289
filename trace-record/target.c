/* SPDX-License-Identifier: MIT */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "array.h"
#include "os.h"

#define READ_PAGES 64u /* of one call of process_vm_readv() */

void target_init(struct target *t, pid_t pid)
{
	*t = (struct target){ .pid = pid, .memory = -1 };
}

static void forget_mappings(struct target *t)
{
	for (uint32_t i = 0; i < t->n_mappings; i++)
		free(t->mappings[i].path);
	t->n_mappings = 0;
}

/* It stays that of the program that ran when it was opened. */
static void close_memory(struct target *t)
{
	if (t->memory >= 0)
		close(t->memory);
	t->memory = -1;
}

void target_finish(struct target *t)
{
	forget_mappings(t);
	free(t->mappings);
	close_memory(t);
	target_init(t, t->pid);
}

void target_path(const struct target *t, char path[TARGET_PATH], const char *name)
{
	snprintf(path, TARGET_PATH, "/proc/%d/%s", (int)t->pid, name);
}

/* ---- mappings ---- */

static bool parse_mapping(char *line, struct mapping *m)
{
	unsigned major_number, minor_number;
	char rights[5];
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m->start, &m->end, rights, &m->offset,
		   &major_number, &minor_number, &m->inode, &at) < 7 ||
	    m->end <= m->start || at == 0)
		return false;
	m->device = makedev(major_number, minor_number);
	m->writable = rights[1] == 'w';
	m->executable = rights[2] == 'x';
	m->path = strdup(line + at);
	return m->path;
}

int target_look(struct target *t)
{
	char path[TARGET_PATH], *line = NULL;
	size_t size = 0;
	FILE *maps;

	forget_mappings(t);
	close_memory(t);
	target_path(t, path, "maps");
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (getline(&line, &size, maps) > 0) {
		struct mapping m;

		if (array_reserve(&t->mappings, t->n_mappings, &t->room, sizeof(*t->mappings)) &&
		    parse_mapping(line, &m))
			t->mappings[t->n_mappings++] = m;
	}
	free(line);
	fclose(maps);
	return t->n_mappings ? 0 : -ESRCH;
}

const struct mapping *target_mapping(const struct target *t, uint64_t address)
{
	for (uint32_t i = 0; i < t->n_mappings; i++) {
		if (address >= t->mappings[i].start && address < t->mappings[i].end)
			return &t->mappings[i];
	}
	return NULL;
}

const struct mapping *target_memfd(const struct target *t, const char *name)
{
	static const char prefix[] = "/memfd:";
	const size_t n = strlen(name);

	for (uint32_t i = 0; i < t->n_mappings; i++) {
		const char *path = t->mappings[i].path;

		if (strncmp(path, prefix, sizeof(prefix) - 1) == 0 &&
		    strncmp(path + sizeof(prefix) - 1, name, n) == 0 &&
		    strcmp(path + sizeof(prefix) - 1 + n, " (deleted)") == 0)
			return &t->mappings[i];
	}
	return NULL;
}

/* ---- memory ---- */

static bool open_memory(struct target *t)
{
	char path[TARGET_PATH];

	if (t->memory < 0) {
		target_path(t, path, "mem");
		t->memory = open(path, O_RDWR | O_CLOEXEC);
	}
	return t->memory >= 0;
}

bool target_read(struct target *t, uint64_t address, void *to, size_t bytes)
{
	return open_memory(t) && pread(t->memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool target_write(struct target *t, uint64_t address, const void *from, size_t bytes)
{
	return open_memory(t) && pwrite(t->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* The kernel's call for that respects protections: a stack's guard pages end it. */
size_t target_read_words(const struct target *t, uint64_t address, uint64_t *to, size_t most)
{
	struct iovec local = { to, most * sizeof(*to) }, remote[READ_PAGES];
	uint64_t at = address, left = most * sizeof(*to);
	unsigned n = 0;
	ssize_t got;

	for (; left > 0 && n < READ_PAGES; n++) {
		const uint64_t in_page = PAGE - at % PAGE, bytes = left < in_page ? left : in_page;

		remote[n] = (struct iovec){ (void *)at, bytes }; // NOLINT(performance-no-int-to-ptr)
		at += bytes;
		left -= bytes;
	}
	got = process_vm_readv(t->pid, &local, 1, remote, n, 0);
	return got > 0 ? (size_t)got / sizeof(*to) : 0;
}

/* ---- status ---- */

char *target_status(const struct target *t, const char *key)
{
	char path[TARGET_PATH], *line = NULL, *value = NULL;
	const size_t n = strlen(key);
	size_t size = 0;
	FILE *status;

	target_path(t, path, "status");
	status = fopen(path, "re");
	while (status && !value && getline(&line, &size, status) > 0) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		line[strcspn(line, "\n")] = 0;
		value = strdup(line + n + 1 + strspn(line + n + 1, " \t"));
	}
	if (status)
		fclose(status);
	free(line);
	return value;
}
