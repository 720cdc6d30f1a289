/* SPDX-License-Identifier: MIT */
#include "file_set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "free_name.h"
#include "pattern.h"

#define RACES_LOST 100u /* for a free name, against other processes */

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

/* With ".PID", in the place of the name; NULL: no memory. */
static char *add_pid(char *name, uint32_t pid)
{
	char mark[16], *longer;

	snprintf(mark, sizeof(mark), ".%u", pid);
	longer = name_with_mark(name, mark);
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
		return add_pid(name, process->pid);
	if (!name || *name)
		return name;
	*problem = "the name of the trace is empty";
	free(name);
	return NULL;
}

/* ---- files ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

void file_set_finish(struct file_set *files)
{
	tdestroy(files->made, free);
	free(files->stand_in);
}

static void note(struct file_set *files, const char *path)
{
	char *copy = strdup(path), **made = copy ? tsearch(copy, &files->made, compare) : NULL;

	if (!made || *made != copy)
		free(copy);
}

static void forget(struct file_set *files, const char *path)
{
	char **made = tfind(path, &files->made, compare), *copy = made ? *made : NULL;

	if (copy)
		tdelete(path, &files->made, compare);
	free(copy);
}

/* Whether the path is a file of an earlier run that may be overwritten. */
static bool is_old(const struct file_set *files, const char *path)
{
	struct stat st;

	return files->overwrite && !tfind(path, &files->made, compare) && lstat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

/* Whether there is such a file that is to stay. */
static bool is_taken(const void *files, const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && !is_old(files, path);
}

/* Tells readers that the file still grows, until all descriptors of it are closed. Where no locks are, it does not. */
static void show_writing(int fd)
{
	fcntl(fd, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET });
}

int file_set_create(struct file_set *files, const char *path)
{
	int fd;

	if (is_old(files, path))
		unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		show_writing(fd);
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
		show_writing(fd);
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
	unlink(files->stand_in ? files->stand_in : path);
	forget(files, path);
}

int file_set_create_numbered(struct file_set *files, char **path)
{
	const int first = file_set_create(files, *path);

	if (first >= 0 || errno != EEXIST)
		return first;
	for (unsigned i = 0; i < RACES_LOST; i++) {
		char *name = name_free(*path, is_taken, files);
		const int fd = name ? file_set_create(files, name) : -1;

		if (fd >= 0 || !name || errno != EEXIST) {
			if (name)
				free(*path);
			*path = name ? name : *path;
			return fd;
		}
		free(name);
	}
	return -1;
}
