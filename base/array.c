/* SPDX-License-Identifier: MIT */
#include "array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MIN 64u

/*
 * Gives an array of `had` items more than n, at most `most`: twice as many as before, or a few more than n if that is more.
 * Returns how many; 0: no memory.
 */
static size_t resize(void *items, size_t n, size_t had, size_t most, size_t size)
{
	const size_t twice = had < most / 2 ? 2 * had : most;
	const size_t enough = n < most - ITEMS_MIN ? n + ITEMS_MIN : most;
	const size_t wanted = twice > enough ? twice : enough;
	void *grown;

	assert(size > 0);
	if (n >= most)
		return 0;
	memcpy(&grown, items, sizeof(grown)); /* the owner's pointer may be one to any type */
	grown = reallocarray(grown, wanted, size);
	if (!grown)
		return 0;
	memcpy(items, &grown, sizeof(grown));
	return wanted;
}

static void zero(void *items, size_t from, size_t to, size_t size)
{
	char *bytes;

	memcpy(&bytes, items, sizeof(bytes));
	memset(bytes + from * size, 0, (to - from) * size);
}

bool array_grow_u32(void *items, uint32_t n, uint32_t *capacity, size_t size)
{
	const size_t wanted = resize(items, n, *capacity, UINT32_MAX, size);

	*capacity = wanted ? (uint32_t)wanted : *capacity;
	return wanted != 0;
}

bool array_grow_size(void *items, size_t n, size_t *capacity, size_t size)
{
	const size_t wanted = resize(items, n, *capacity, SIZE_MAX, size);

	*capacity = wanted ? wanted : *capacity;
	return wanted != 0;
}

bool array_grow_zeroed_u32(void *items, uint32_t n, uint32_t *capacity, size_t size)
{
	const uint32_t before = *capacity;

	if (!array_grow_u32(items, n, capacity, size))
		return false;
	zero(items, before, *capacity, size);
	return true;
}

bool array_grow_zeroed_size(void *items, size_t n, size_t *capacity, size_t size)
{
	const size_t before = *capacity;

	if (!array_grow_size(items, n, capacity, size))
		return false;
	zero(items, before, *capacity, size);
	return true;
}
