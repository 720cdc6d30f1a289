/* SPDX-License-Identifier: MIT */
/* Linear probing; what is taken out leaves no gap, so a search ends at the first empty slot. */
#include "index_map.h"

#include <stdlib.h>

#define NO_BLOCK UINT64_MAX
#define SLOTS_MIN 64u
#define GROUP_LOG2 3 /* blocks that came one after the other lie together: they often go so, too */

struct index_map_slot {
	uint64_t block;
	uint64_t number;
};

void index_map_finish(struct index_map *map)
{
	free(map->slots);
	*map = (struct index_map){ 0 };
}

static size_t home_of(const struct index_map *map, uint64_t block)
{
	const uint64_t group = (block >> GROUP_LOG2) * 0x9e3779b97f4a7c15u >> 20;

	return (size_t)(group << GROUP_LOG2 | (block & ((1u << GROUP_LOG2) - 1))) & map->mask;
}

/* Where the block is, or would be put. */
static size_t slot_of(const struct index_map *map, uint64_t block)
{
	size_t i = home_of(map, block);

	while (map->slots[i].block != block && map->slots[i].block != NO_BLOCK)
		i = (i + 1) & map->mask;
	return i;
}

static bool grow(struct index_map *map)
{
	const size_t n = map->slots ? 2 * (map->mask + 1) : SLOTS_MIN;
	struct index_map bigger = { .slots = malloc(n * sizeof(*bigger.slots)), .mask = n - 1, .n = map->n };

	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < n; i++)
		bigger.slots[i].block = NO_BLOCK;
	for (size_t i = 0; map->slots && i <= map->mask; i++) {
		if (map->slots[i].block != NO_BLOCK)
			bigger.slots[slot_of(&bigger, map->slots[i].block)] = map->slots[i];
	}
	free(map->slots);
	*map = bigger;
	return true;
}

bool index_map_put(struct index_map *map, uint64_t block, uint64_t number)
{
	struct index_map_slot *slot;

	if ((!map->slots || map->n >= map->mask / 2) && !grow(map))
		return false;
	slot = &map->slots[slot_of(map, block)];
	if (slot->block == NO_BLOCK)
		map->n++;
	*slot = (struct index_map_slot){ block, number };
	return true;
}

bool index_map_find(const struct index_map *map, uint64_t block, uint64_t *number)
{
	const struct index_map_slot *slot;

	if (map->n == 0 || block == NO_BLOCK)
		return false;
	slot = &map->slots[slot_of(map, block)];
	if (slot->block != block)
		return false;
	*number = slot->number;
	return true;
}

void index_map_foresee(const struct index_map *map, uint64_t block)
{
	if (map->n)
		__builtin_prefetch(&map->slots[home_of(map, block)]);
}

bool index_map_take(struct index_map *map, uint64_t block, uint64_t *number)
{
	size_t gap, i;

	if (map->n == 0 || block == NO_BLOCK)
		return false;
	gap = i = slot_of(map, block);
	if (map->slots[gap].block != block)
		return false;
	if (number)
		*number = map->slots[gap].number;
	/* Whoever is further from home than the gap is moves into it. */
	while (map->slots[i = (i + 1) & map->mask].block != NO_BLOCK) {
		if (((i - home_of(map, map->slots[i].block)) & map->mask) >= ((i - gap) & map->mask)) {
			map->slots[gap] = map->slots[i];
			gap = i;
		}
	}
	map->slots[gap].block = NO_BLOCK;
	map->n--;
	return true;
}
