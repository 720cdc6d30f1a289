/* SPDX-License-Identifier: MIT */
/*
 * Texts of source files, kept as long as questions are asked. A trace and debug information are untrusted: only regular
 * files whose names end as sources do are read, up to a size.
 */
#ifndef ANALYZE_SOURCE_FILES_H
#define ANALYZE_SOURCE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* True: an absolute path of a regular file that ends as a source's does. */
bool source_file_is_one(const char *path);

struct source_file {
	const char *path;
	char *text;       /* NULL: it cannot be read */
	uint32_t *starts; /* [n_lines + 1] where lines begin */
	uint8_t *comment; /* [n_lines] the line begins within a comment */
	uint32_t n_lines;
	time_t modified;
};

/* Zero-initialised is empty. */
struct source_files {
	struct source_file **files;
	uint32_t n, room;
	size_t bytes;
};

void source_files_finish(struct source_files *files);

/* The file; `path` must live as long as `files`. NULL: it cannot be read, or enough has been read. */
const struct source_file *source_files_open(struct source_files *files, const char *path);

#endif
