/* SPDX-License-Identifier: MIT */
#include "free_ranges.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

#define NONE SIZE_TREE_NONE

void free_ranges_begin(struct free_ranges *ranges)
{
	*ranges = (struct free_ranges){ .n = 0 };
	size_tree_begin(&ranges->tree);
}

void free_ranges_finish(struct free_ranges *ranges)
{
	free(ranges->items);
	size_tree_finish(&ranges->tree);
	free_ranges_begin(ranges);
}

bool free_ranges_reserve(struct free_ranges *ranges, uint32_t n)
{
	return array_reserve(&ranges->items, n - 1, &ranges->capacity, sizeof(*ranges->items)) &&
	       size_tree_reserve(&ranges->tree, ranges->capacity);
}

/* Inserts a range before the item `at`. */
static void insert(struct free_ranges *ranges, uint64_t lo, uint64_t hi, uint32_t at)
{
	uint32_t item = ranges->n;

	if (ranges->vacant) {
		item = ranges->vacant - 1;
		ranges->vacant = (uint32_t)ranges->items[item].lo;
	} else {
		assert(ranges->n < ranges->capacity);
		ranges->n++;
	}
	ranges->items[item] = (struct free_range){ lo, hi };
	size_tree_insert(&ranges->tree, item, hi - lo, at);
}

static void drop(struct free_ranges *ranges, uint32_t item)
{
	size_tree_remove(&ranges->tree, item);
	ranges->items[item] = (struct free_range){ .lo = ranges->vacant };
	ranges->vacant = item + 1;
}

static void set(struct free_ranges *ranges, uint32_t item, uint64_t lo, uint64_t hi)
{
	assert(lo < hi);
	ranges->items[item] = (struct free_range){ lo, hi };
	size_tree_resize(&ranges->tree, item, hi - lo);
}

bool free_ranges_take(struct free_ranges *ranges, uint64_t size, uint64_t *address)
{
	const uint32_t item = size_tree_first(&ranges->tree, size);
	struct free_range range;

	assert(size > 0);
	if (item == NONE)
		return false;
	range = ranges->items[item];
	*address = range.lo;
	if (range.hi - range.lo == size)
		drop(ranges, item);
	else
		set(ranges, item, range.lo + size, range.hi);
	return true;
}

/* Finds the last range below an address and the first one above it. */
static void find_neighbours(const struct free_ranges *ranges, uint64_t address, uint32_t *below,
			    uint32_t *above)
{
	*below = *above = NONE;
	for (uint32_t i = ranges->tree.root; i != NONE;) {
		if (ranges->items[i].lo < address) {
			*below = i;
			i = ranges->tree.v[i].high;
		} else {
			*above = i;
			i = ranges->tree.v[i].low;
		}
	}
}

void free_ranges_give(struct free_ranges *ranges, uint64_t address, uint64_t size)
{
	const struct free_range *items = ranges->items;
	uint64_t lo = address, hi = address + size;
	uint32_t below, above;

	find_neighbours(ranges, address, &below, &above);
	assert(size > 0 && (below == NONE || items[below].hi <= lo) &&
	       (above == NONE || hi <= items[above].lo));
	if (below != NONE && items[below].hi == lo)
		lo = items[below].lo;
	if (above != NONE && items[above].lo == hi)
		hi = items[above].hi;
	if (lo < address) {
		if (hi > address + size)
			drop(ranges, above);
		set(ranges, below, lo, hi);
	} else if (hi > address + size) {
		set(ranges, above, lo, hi);
	} else {
		insert(ranges, lo, hi, above);
	}
}

/* Returns where the last range of a subtree ends; `end` is that of the range before it. */
static uint64_t check_subtree(const struct free_ranges *ranges, uint32_t i, uint64_t end)
{
	if (i == NONE)
		return end;
	end = check_subtree(ranges, ranges->tree.v[i].low, end);
	assert(ranges->items[i].lo > end && ranges->items[i].hi > ranges->items[i].lo);
	assert(ranges->tree.v[i].size == ranges->items[i].hi - ranges->items[i].lo);
	return check_subtree(ranges, ranges->tree.v[i].high, ranges->items[i].hi);
}

void free_ranges_check(const struct free_ranges *ranges)
{
	size_tree_check(&ranges->tree);
	check_subtree(ranges, ranges->tree.root, 0);
}
