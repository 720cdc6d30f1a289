/* SPDX-License-Identifier: MIT */
/* Linear probing. Removal closes the gap, so a search ends at the first free bucket. */
#include "index_map.h"

#include <assert.h>
#include <stdlib.h>

#include "check.h"

#define NO_KEY UINT64_MAX
#define BUCKETS_MIN 64u
#define GROUP_LOG2 3 /* so many neighbouring keys have neighbouring homes */

struct index_map_bucket {
	uint64_t key;
	uint64_t number;
};

void index_map_finish(struct index_map *map)
{
	free(map->buckets);
	*map = (struct index_map){ 0 };
}

static size_t home_of(const struct index_map *map, uint64_t key)
{
	const uint64_t group = (key >> GROUP_LOG2) * 0x9e3779b97f4a7c15u >> 32;

	return (size_t)(group << GROUP_LOG2 | (key & ((1u << GROUP_LOG2) - 1))) & map->mask;
}

/* The bucket that has the key, or the free one for it. */
static size_t bucket_of(const struct index_map *map, uint64_t key)
{
	size_t i = home_of(map, key);

	while (map->buckets[i].key != key && map->buckets[i].key != NO_KEY)
		i = (i + 1) & map->mask;
	return i;
}

/* A search that starts at a key's home reaches the key. */
static void check_buckets(const struct index_map *map)
{
	size_t n = 0;

	for (size_t i = 0; i <= map->mask; i++) {
		assert(map->buckets[i].key == NO_KEY || bucket_of(map, map->buckets[i].key) == i);
		n += map->buckets[i].key != NO_KEY;
	}
	assert(n == map->n && n <= map->mask / 2);
}

static bool grow(struct index_map *map)
{
	const size_t n = map->buckets ? 2 * (map->mask + 1) : BUCKETS_MIN;
	struct index_map bigger = { .buckets = malloc(n * sizeof(*bigger.buckets)),
				    .mask = n - 1,
				    .n = map->n };

	if (!bigger.buckets)
		return false;
	if (map->buckets && check_wanted())
		check_buckets(map);
	for (size_t i = 0; i < n; i++)
		bigger.buckets[i].key = NO_KEY;
	for (size_t i = 0; map->buckets && i <= map->mask; i++) {
		if (map->buckets[i].key != NO_KEY)
			bigger.buckets[bucket_of(&bigger, map->buckets[i].key)] = map->buckets[i];
	}
	free(map->buckets);
	*map = bigger;
	return true;
}

bool index_map_put(struct index_map *map, uint64_t key, uint64_t number)
{
	struct index_map_bucket *bucket;

	if (key == NO_KEY)
		return true;
	if ((!map->buckets || map->n >= map->mask / 2) && !grow(map))
		return false;
	bucket = &map->buckets[bucket_of(map, key)];
	if (bucket->key == NO_KEY)
		map->n++;
	*bucket = (struct index_map_bucket){ key, number };
	return true;
}

bool index_map_find(const struct index_map *map, uint64_t key, uint64_t *number)
{
	const struct index_map_bucket *bucket;

	if (map->n == 0 || key == NO_KEY)
		return false;
	bucket = &map->buckets[bucket_of(map, key)];
	if (bucket->key != key)
		return false;
	*number = bucket->number;
	return true;
}

bool index_map_take(struct index_map *map, uint64_t key, uint64_t *number)
{
	size_t gap, i;

	if (map->n == 0 || key == NO_KEY)
		return false;
	gap = i = bucket_of(map, key);
	if (map->buckets[gap].key != key)
		return false;
	if (number)
		*number = map->buckets[gap].number;
	/* A key moves into the gap if the gap is not before the key's home. */
	while (map->buckets[i = (i + 1) & map->mask].key != NO_KEY) {
		if (((i - home_of(map, map->buckets[i].key)) & map->mask) >= ((i - gap) & map->mask)) {
			map->buckets[gap] = map->buckets[i];
			gap = i;
		}
	}
	map->buckets[gap].key = NO_KEY;
	assert(map->n > 0);
	map->n--;
	return true;
}
