/* SPDX-License-Identifier: MIT */
/*
 * Memory that is given out piece by piece and released all at once: for millions of small answers, of
 * which malloc would want 16 bytes more each.
 */
#ifndef BASE_STRING_POOL_H
#define BASE_STRING_POOL_H

#include <stddef.h>

/* All zero is the empty pool. */
struct pool {
	struct pool_block *blocks; /* the newest first */
	size_t used;               /* bytes of the newest */
	size_t size;
};

/* Aligned to 8 bytes, not cleared; lives until pool_finish(). NULL when out of memory. */
void *pool_take(struct pool *pool, size_t size);
void pool_finish(struct pool *pool);

#endif
