/* SPDX-License-Identifier: MIT */
/*
 * Memory that is taken in small pieces and freed all at once, without the 16 bytes that malloc adds to each piece.
 */
#ifndef BASE_STRING_POOL_H
#define BASE_STRING_POOL_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct pool {
	struct pool_block *blocks; /* a list, the newest one first */
	size_t used;               /* bytes of the newest */
	size_t size;
};

/* Aligned to 8 bytes, not cleared; lives until pool_finish(). NULL: no memory. */
void *pool_take(struct pool *pool, size_t size);
/* A copy of a text, as long as the pool lives. NULL: no memory. */
char *pool_copy(struct pool *pool, const char *text);

void pool_finish(struct pool *pool);

#endif
