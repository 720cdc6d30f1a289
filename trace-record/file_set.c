/* SPDX-License-Identifier: MIT */
#include "file_set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "pattern.h"

#define NAMES_TRIED 1000u

/* ---- names ---- */

static const char *describe(const struct pattern_error *error)
{
	switch (error->problem) {
	case PATTERN_UNKNOWN:
		return "expected p, e, n, q or % after '%'";
	case PATTERN_NO_BRACE:
		return "expected '{' after %q";
	case PATTERN_NO_END:
		return "missing '}' after %q{";
	case PATTERN_UNSET:
		return "the environment variable of %q{} is not set";
	case PATTERN_NO_MEMORY:
		break;
	}
	return "out of memory";
}

/* "FILE.PID", in the place of FILE; NULL: no memory. */
static char *append_pid(char *name, uint32_t pid)
{
	char *longer;

	if (asprintf(&longer, "%s.%u", name, pid) < 0)
		longer = NULL;
	free(name);
	return longer;
}

char *file_set_name(struct file_set *files, const char *pattern, const struct file_set_process *process,
		    const char **problem)
{
	struct pattern_values values = {
		.pid = process->pid,
		.program = process->program,
		.number = ++files->n_names,
	};
	struct pattern_error error;
	char *name = pattern_expand(pattern, &values, &error);

	*problem = name ? "out of memory" : describe(&error);
	if (name && process->forked && !values.has_pid)
		return append_pid(name, process->pid);
	if (!name || *name)
		return name;
	*problem = "the name of the trace is empty";
	free(name);
	return NULL;
}

/* ---- files ---- */

void file_set_finish(struct file_set *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		free(files->made[i]);
	free(files->made);
	free(files->stand_in);
}

/* Which of this run's files has the path; files->n: none. */
static uint32_t find(const struct file_set *files, const char *path)
{
	uint32_t i = 0;

	while (i < files->n && strcmp(files->made[i], path) != 0)
		i++;
	return i;
}

static void note(struct file_set *files, const char *path)
{
	if (!array_reserve(&files->made, files->n, &files->capacity, sizeof(*files->made)))
		return;
	files->made[files->n] = strdup(path);
	files->n += files->made[files->n] != NULL;
}

/* Whether the path is a file of an earlier run that may be overwritten. */
static bool is_old(const struct file_set *files, const char *path)
{
	struct stat st;

	return files->overwrite && find(files, path) == files->n && lstat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

int file_set_create(struct file_set *files, const char *path)
{
	int fd;

	if (is_old(files, path))
		unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && files->overwrite)
		note(files, path);
	return fd;
}

int file_set_create_first(struct file_set *files, const char *path)
{
	const char *slash = strrchr(path, '/');
	int fd;

	if (!is_old(files, path))
		return file_set_create(files, path);
	if (asprintf(&files->stand_in, "%.*s.msrec-XXXXXX", slash ? (int)(slash + 1 - path) : 0, path) < 0) {
		files->stand_in = NULL;
		return -1;
	}
	fd = mkostemp(files->stand_in, O_CLOEXEC);
	if (fd >= 0) {
		note(files, path);
		return fd;
	}
	free(files->stand_in);
	files->stand_in = NULL;
	return -1;
}

void file_set_settle(struct file_set *files, char **path)
{
	char *superseded = files->stand_in;

	assert(*path);
	if (superseded && rename(superseded, *path) != 0) {
		superseded = *path;
		*path = files->stand_in;
	}
	free(superseded);
	files->stand_in = NULL;
}

void file_set_remove(struct file_set *files, const char *path)
{
	const uint32_t i = find(files, path);

	unlink(files->stand_in ? files->stand_in : path);
	if (i == files->n)
		return;
	free(files->made[i]);
	files->made[i] = files->made[--files->n];
}

int file_set_create_numbered(struct file_set *files, char **path)
{
	for (unsigned i = 1; i < NAMES_TRIED; i++) {
		char *name;
		int fd;

		if (i == 1)
			name = strdup(*path);
		else if (asprintf(&name, "%s.%u", *path, i) < 0)
			name = NULL;
		if (!name)
			return -1;
		fd = file_set_create(files, name);
		if (fd >= 0 || errno != EEXIST) {
			free(*path);
			*path = name;
			return fd;
		}
		free(name);
	}
	return -1;
}
