/* SPDX-License-Identifier: MIT */
#include "string_pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct pool_block {
	struct pool_block *older;
	uint64_t bytes[];
};

void *pool_take(struct pool *pool, size_t size)
{
	struct pool_block *block = pool->blocks;

	size = (size + 7) & ~(size_t)7;
	if (!block || size > pool->size - pool->used) {
		const size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		block = malloc(sizeof(*block) + bytes);
		if (!block)
			return NULL;
		block->older = pool->blocks;
		pool->blocks = block;
		pool->size = bytes;
		pool->used = 0;
	}
	assert(pool->used <= pool->size && size <= pool->size - pool->used);
	pool->used += size;
	return (char *)block->bytes + pool->used - size;
}

char *pool_copy(struct pool *pool, const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = pool_take(pool, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void pool_finish(struct pool *pool)
{
	while (pool->blocks) {
		struct pool_block *block = pool->blocks;

		pool->blocks = block->older;
		free(block);
	}
	*pool = (struct pool){ NULL, 0, 0 };
}
