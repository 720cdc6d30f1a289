/* SPDX-License-Identifier: MIT */
/* A number for each of some blocks, which are named by numbers of 64 bits, as the index of their allocation. */
#ifndef BASE_INDEX_MAP_H
#define BASE_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty map. Takes memory for as many blocks as were in it at once. */
struct index_map {
	struct index_map_slot *slots; /* [mask + 1] */
	size_t mask, n;
};

void index_map_finish(struct index_map *map);

/* Adds a block, or gives it another number; UINT64_MAX is no block. False: no memory. */
bool index_map_put(struct index_map *map, uint64_t block, uint64_t number);

/* *number stays as it is where there is no such block. */
bool index_map_find(const struct index_map *map, uint64_t block, uint64_t *number);

/* A hint: the block will be looked for. */
void index_map_foresee(const struct index_map *map, uint64_t block);

/* The same, and takes the block out; false if it isn't there. `number` may be NULL. */
bool index_map_take(struct index_map *map, uint64_t block, uint64_t *number);

#endif
