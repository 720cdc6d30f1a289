/* SPDX-License-Identifier: MIT */
/* A number for each of some blocks, which are named by numbers of 64 bits, as the index of their allocation. */
#ifndef BASE_INDEX_MAP_H
#define BASE_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty map. Takes memory for as many blocks as were in it at once. */
struct indexmap {
	struct indexmap_slot *slots; /* [mask + 1] */
	size_t mask, n;
};

void indexmap_finish(struct indexmap *map);

/* Adds a block, or gives it another number; UINT64_MAX is no block. False: no memory. */
bool indexmap_put(struct indexmap *map, uint64_t block, uint64_t number);

/* *number stays as it is where there is no such block. */
bool indexmap_find(const struct indexmap *map, uint64_t block, uint64_t *number);

/* A hint: the block will be looked for. */
void indexmap_foresee(const struct indexmap *map, uint64_t block);

/* The same, and takes the block out; false if it isn't there. `number` may be NULL. */
bool indexmap_take(struct indexmap *map, uint64_t block, uint64_t *number);

#endif
