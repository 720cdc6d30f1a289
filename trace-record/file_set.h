/* SPDX-License-Identifier: MIT */
/* The files that a run makes: new ones, or in place of files of earlier runs if that is wanted, never of its own. */
#ifndef TRACE_RECORD_FILE_SET_H
#define TRACE_RECORD_FILE_SET_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise but `overwrite`. */
struct file_set {
	bool overwrite;   /* files of earlier runs */
	void *made;       /* tree of paths, see tsearch(3); empty without `overwrite` */
	uint32_t n_names; /* made so far, for %n */
	char *stand_in;   /* the first file's present name, until it takes an old file's place; else NULL */
};

void file_set_finish(struct file_set *files);

/* What a file's name may say of its process. */
struct file_set_process {
	uint32_t pid;
	const char *program; /* its file name */
	bool forked;         /* ".<pid>" is added if the pattern has no %p */
};

/*
 * The name of a process's first file: expands %p (pid), %e (program), %n (how many names there were), %q{NAME} (the
 * environment's) and %%. To be freed; NULL with *problem, a constant.
 */
char *file_set_name(struct file_set *files, const char *pattern, const struct file_set_process *process,
		    const char **problem);

/* A descriptor to read and write, or -1 with errno. */
int file_set_create(struct file_set *files, const char *path);

/* The same for the run's first file; an old file stays until file_set_settle(), or if the new one is removed before. */
int file_set_create_first(struct file_set *files, const char *path);

/* Gives the first file its name. If that fails, its present name replaces *path. */
void file_set_settle(struct file_set *files, char **path);

/* As file_set_create(), by a name_free() of *path, which replaces *path. */
int file_set_create_numbered(struct file_set *files, char **path);

/* Removes one of them. */
void file_set_remove(struct file_set *files, const char *path);

#endif
