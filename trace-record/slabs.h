/* SPDX-License-Identifier: MIT */
/*
 * Memory for many small parts of one table, in a few sizes. Cheaper than malloc(), since a part's size is known
 * when it is given back; and in huge pages as soon as there is much of it, as a table that is looked up at random
 * is otherwise slow for its translations and its first touches.
 */
#ifndef TRACE_RECORD_SLABS_H
#define TRACE_RECORD_SLABS_H

#include <stddef.h>

#define SLAB_CLASSES 8

/* All zero: none yet. */
struct slabs {
	void *given_back[SLAB_CLASSES]; /* lists; a part begins with the next one */
	char *next, *end;               /* what is left of the newest one */
	struct slab *newest;            /* each leads to an older one */
};

/* Frees all parts. */
void slabs_finish(struct slabs *slabs);

/* A part of the class, as large as all of that class; aligned to a cache line. NULL: no memory. */
void *slabs_take(struct slabs *slabs, unsigned class, size_t bytes);
void slabs_give(struct slabs *slabs, unsigned class, void *part);

#endif
