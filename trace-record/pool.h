/* SPDX-License-Identifier: MIT */
/*
 * Memory for many small parts of one table, in a few sizes. Cheaper than malloc(), since a part's size is known
 * when it is given back; and in huge pages as soon as there is much of it, as a table that is looked up at random
 * is otherwise slow for its translations and its first touches.
 */
#ifndef TRACE_RECORD_POOL_H
#define TRACE_RECORD_POOL_H

#include <stddef.h>

#define POOL_CLASSES 8

/* All zero: an empty pool. */
struct pool {
	void *given_back[POOL_CLASSES]; /* lists; a part begins with the next one */
	char *next, *end;               /* what is left of the newest region */
	struct pool_region *regions;    /* newest first */
};

/* Frees all parts. */
void pool_finish(struct pool *pool);

/* A part of the class, as large as all of that class; aligned to a cache line. NULL: no memory. */
void *pool_take(struct pool *pool, unsigned class, size_t bytes);
void pool_give(struct pool *pool, unsigned class, void *part);

#endif
