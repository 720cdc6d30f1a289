/* SPDX-License-Identifier: MIT */
/* When a process's file is full, what the next one is called, and which of the old ones are kept. */
#ifndef TRACE_RECORD_ROTATION_H
#define TRACE_RECORD_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "file_set.h"

/* All zero is the beginning. */
struct rotation {
	char *first;          /* path of the first file */
	char **paths;         /* of those that are kept, the oldest first */
	uint32_t n, capacity; /* of `paths` */
	uint32_t files;       /* so far */
	uint64_t base;        /* bytes that the present file began with */
	uint64_t bytes;       /* of it at the last look ... */
	uint64_t growth;      /* ... and by how much files grew most from look to look */
};

void rotation_finish(struct rotation *rotation);

/*
 * Whether a file that has so many bytes by now may be above `most` at the next look. One that began with more than half of
 * that becomes twice as large as what it began with: else nothing would ever be in it.
 */
bool rotation_is_due(struct rotation *rotation, uint64_t bytes, uint64_t most);

/* Records of a chunk, and from look to look, for files of at most so many bytes; 0: no limit. */
uint32_t rotation_step(uint64_t most);

/* A file begins that has so many bytes already. */
void rotation_begin(struct rotation *rotation, uint64_t base);

/*
 * Notes the file that ends, and gives the next one's name, to be freed: FIRST.2, FIRST.3 ... The oldest files go, until
 * with the next one no more than `keep` are left; 0: all stay. NULL: no memory.
 */
char *rotation_next(struct rotation *rotation, struct file_set *files, const char *path, uint32_t keep);

#endif
