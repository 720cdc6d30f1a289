/* SPDX-License-Identifier: MIT */
#include "free_ranges.h"

#include <stdlib.h>

/* Sizes of subtrees differ by chance alone, whatever the order of calls. */
static uint32_t priority_of(uint32_t i)
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	return (uint32_t)(z >> 32);
}

static void hole_update(struct free_ranges *holes, uint32_t i)
{
	struct hole *hole = &holes->v[i];
	uint64_t max = hole->hi - hole->lo;

	if (holes->v[hole->left].max > max)
		max = holes->v[hole->left].max;
	if (holes->v[hole->right].max > max)
		max = holes->v[hole->right].max;
	hole->max = max;
}

bool free_ranges_reserve(struct free_ranges *holes, uint32_t n)
{
	uint64_t needed = (uint64_t)n + 1;
	uint64_t capacity = holes->capacity ? holes->capacity : 16;
	struct hole *v;

	if (needed <= holes->capacity)
		return true;
	while (capacity < needed)
		capacity *= 2;
	if (capacity > UINT32_MAX)
		return false;
	v = realloc(holes->v, capacity * sizeof(*v));
	if (!v)
		return false;
	if (holes->n == 0) {
		v[0] = (struct hole){ .max = 0 };
		holes->n = 1;
	}
	holes->v = v;
	holes->capacity = (uint32_t)capacity;
	return true;
}

static uint32_t hole_make(struct free_ranges *holes, uint64_t lo, uint64_t hi)
{
	uint32_t i = holes->vacant;

	if (i)
		holes->vacant = holes->v[i].left;
	else
		i = holes->n++;
	holes->v[i] = (struct hole){ .lo = lo, .hi = hi, .max = hi - lo, .priority = priority_of(i) };
	return i;
}

static void hole_drop(struct free_ranges *holes, uint32_t i)
{
	holes->v[i].left = holes->vacant;
	holes->vacant = i;
}

/* All holes of a lie below those of b. */
static uint32_t join(struct free_ranges *holes, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a ? a : b;
	if (holes->v[a].priority >= holes->v[b].priority) {
		holes->v[a].right = join(holes, holes->v[a].right, b);
		hole_update(holes, a);
		return a;
	}
	holes->v[b].left = join(holes, a, holes->v[b].left);
	hole_update(holes, b);
	return b;
}

/* Holes below `address` go to *low, the others to *high. */
static void split(struct free_ranges *holes, uint32_t i, uint64_t address, uint32_t *low, uint32_t *high)
{
	if (!i) {
		*low = *high = 0;
	} else if (holes->v[i].lo < address) {
		split(holes, holes->v[i].right, address, &holes->v[i].right, high);
		*low = i;
		hole_update(holes, i);
	} else {
		split(holes, holes->v[i].left, address, low, &holes->v[i].left);
		*high = i;
		hole_update(holes, i);
	}
}

/* The subtree has a hole of `size`. Returns what replaces it. */
static uint32_t take(struct free_ranges *holes, uint32_t i, uint64_t size, uint64_t *address)
{
	struct hole *hole = &holes->v[i];

	if (holes->v[hole->left].max >= size) {
		hole->left = take(holes, hole->left, size, address);
	} else if (hole->hi - hole->lo >= size) {
		*address = hole->lo;
		hole->lo += size;
		if (hole->lo == hole->hi) {
			uint32_t rest = join(holes, hole->left, hole->right);

			hole_drop(holes, i);
			return rest;
		}
	} else {
		hole->right = take(holes, hole->right, size, address);
	}
	hole_update(holes, i);
	return i;
}

bool free_ranges_take(struct free_ranges *holes, uint64_t size, uint64_t *address)
{
	if (!holes->root || holes->v[holes->root].max < size)
		return false;
	holes->root = take(holes, holes->root, size, address);
	return true;
}

/* Cuts the lowest hole off the subtree at *root, or the highest. 0 if there is none. */
static uint32_t cut_end(struct free_ranges *holes, uint32_t *root, bool lowest)
{
	uint32_t i = *root, end;

	if (!i)
		return 0;
	if (lowest ? holes->v[i].left : holes->v[i].right) {
		end = cut_end(holes, lowest ? &holes->v[i].left : &holes->v[i].right, lowest);
		hole_update(holes, i);
		return end;
	}
	*root = lowest ? holes->v[i].right : holes->v[i].left;
	return i;
}

void free_ranges_give(struct free_ranges *holes, uint64_t address, uint64_t size)
{
	uint32_t low, high, before, after, i;
	uint64_t lo = address, hi = address + size;

	split(holes, holes->root, address, &low, &high);
	before = cut_end(holes, &low, false);
	after = cut_end(holes, &high, true);
	if (before && holes->v[before].hi == lo) {
		lo = holes->v[before].lo;
		hole_drop(holes, before);
	} else if (before) {
		holes->v[before].left = holes->v[before].right = 0;
		hole_update(holes, before);
		low = join(holes, low, before);
	}
	if (after && holes->v[after].lo == hi) {
		hi = holes->v[after].hi;
		hole_drop(holes, after);
	} else if (after) {
		holes->v[after].left = holes->v[after].right = 0;
		hole_update(holes, after);
		high = join(holes, after, high);
	}
	i = hole_make(holes, lo, hi);
	holes->root = join(holes, join(holes, low, i), high);
}

void free_ranges_finish(struct free_ranges *holes)
{
	free(holes->v);
	*holes = (struct free_ranges){ .v = NULL };
}
