/* SPDX-License-Identifier: MIT */
/* When a process's file is full, the name of the next file, and which old files are kept. */
#ifndef TRACE_RECORD_ROTATION_H
#define TRACE_RECORD_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "file_set.h"

/* Zero-initialise. */
struct rotation {
	char *first;          /* path of the first file */
	char **paths;         /* of the kept files, the oldest first */
	uint32_t n, capacity; /* of `paths` */
	uint32_t files;       /* begun so far; 0 before the second */
	uint64_t begin_ns;    /* of the session's clock: when the present file began */
	uint64_t initial;     /* bytes of the present file's initial state */
	uint64_t bytes;       /* of the present file at the last look ... */
	uint64_t growth;      /* ... and by how much files grew most from look to look */
};

void rotation_finish(struct rotation *rotation);

/* Whether the path is that of the process's first file. */
bool rotation_is_first(const struct rotation *rotation, const char *path);

/*
 * Whether a file of so many bytes may be larger than `most` at the next look. A file whose initial state takes more than half
 * of `most` may have twice the size of that state: else it would have no room for events.
 */
bool rotation_is_due(struct rotation *rotation, uint64_t bytes, uint64_t most);

/* Records of a chunk, and between looks, for files of at most so many bytes; 0: no limit. */
uint32_t rotation_batch(uint64_t most);

/* A file begins, with an initial state of so many bytes. */
void rotation_begin(struct rotation *rotation, uint64_t initial);

/*
 * Notes the file that ends and returns the next one's name, to be freed: FIRST.2, FIRST.3 ... Removes the oldest files, so
 * that with the next one at most `keep` are left; 0: all stay. NULL: no memory.
 */
char *rotation_next(struct rotation *rotation, struct file_set *files, const char *path, uint32_t keep);

#endif
