/* SPDX-License-Identifier: MIT */
/*
 * A map from 64-bit keys to 64-bit numbers, from which keys can be removed. Neighbouring keys lie together: those that
 * are added one after the other are often removed so, too. Memory: at most 64 bytes a key of the largest number of keys
 * that were in the map at once. Single-threaded.
 */
#ifndef BASE_INDEX_MAP_H
#define BASE_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct index_map {
	struct index_map_bucket *buckets; /* [mask + 1]; NULL: none */
	size_t mask, n;                   /* n <= mask / 2: a search ends at a free bucket */
};

void index_map_finish(struct index_map *map);

/* Adds a key, or gives it another number. UINT64_MAX is no key, and ignored. False: no memory. */
bool index_map_put(struct index_map *map, uint64_t key, uint64_t number);

/* False: no such key; *number is unchanged. */
bool index_map_find(const struct index_map *map, uint64_t key, uint64_t *number);

/* The same, and removes the key. `number` may be NULL. */
bool index_map_take(struct index_map *map, uint64_t key, uint64_t *number);

#endif
