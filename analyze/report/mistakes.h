/* SPDX-License-Identifier: MIT */
/*
 * An observer that collects calls which are wrong, or which gave nothing: by the stack of the call and, where a block is
 * concerned, of its allocation. It looks at the records of those chunks alone that have such calls.
 */
#ifndef ANALYZE_MISTAKES_H
#define ANALYZE_MISTAKES_H

#include "observer.h"

enum mistake_type {
	MISTAKE_MISMATCH, /* freed by another function than it was allocated for, or with another size or alignment */
	MISTAKE_DOUBLE,   /* freed, or given to realloc, again */
	MISTAKE_UNKNOWN,  /* freed, or given to realloc, without having been allocated */
	MISTAKE_OVERFLOW, /* the product of the arguments overflowed */
	MISTAKE_INVALID,  /* the alignment was refused */
	MISTAKE_FAILED,   /* the allocator gave nothing */
	MISTAKE_ZERO,     /* no bytes were asked for; not wrong, but seldom meant */
	MISTAKE_TYPES
};

/* By enum mistake_type: "mismatch" ... */
extern const char *const mistake_names[MISTAKE_TYPES];

struct mistake {
	enum mistake_type type;
	uint32_t call;  /* a kind: of the call; MST_NONE: not recorded */
	uint32_t block; /* a kind: of the block; MST_NONE: none, or not known */
	uint64_t count;
	uint64_t first_ns; /* time of the first one */
};

struct mistakes;

/* NULL: no memory. */
struct mistakes *mistakes_create(void);
void mistakes_destroy(struct mistakes *mistakes); /* NULL is allowed */

struct observer *mistakes_observer(struct mistakes *mistakes);

/* Frees of unknown blocks after recording was off: the blocks may have come then. */
uint64_t mistakes_before(const struct mistakes *mistakes);

/* After the replay, in the order in which they came up; *n of them. */
const struct mistake *mistakes_list(const struct mistakes *mistakes, uint32_t *n);

#endif
