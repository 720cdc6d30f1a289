/* SPDX-License-Identifier: MIT */
#include "size_tree.h"

#include <stdlib.h>

/* Sizes of subtrees differ by chance alone, whatever the order of calls. */
static uint32_t priority_of(uint32_t i)
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	return (uint32_t)(z >> 32);
}

void size_tree_begin(struct size_tree *fits)
{
	*fits = (struct size_tree){ .root = SIZE_TREE_NONE };
}

void size_tree_finish(struct size_tree *fits)
{
	free(fits->v);
	size_tree_begin(fits);
}

bool size_tree_reserve(struct size_tree *fits, uint32_t n)
{
	struct fit *v = realloc(fits->v, n * sizeof(*v));

	if (v)
		fits->v = v;
	return v;
}

static void fit_update(struct fit *v, uint32_t i)
{
	uint64_t max = v[i].size;

	if (v[i].low != SIZE_TREE_NONE && v[v[i].low].max > max)
		max = v[v[i].low].max;
	if (v[i].high != SIZE_TREE_NONE && v[v[i].high].max > max)
		max = v[v[i].high].max;
	v[i].max = max;
}

/* Puts `new`, which may be none, where `old` is below `up`, or at the root. */
static void fit_replace(struct size_tree *fits, uint32_t up, uint32_t old, uint32_t new)
{
	struct fit *v = fits->v;

	if (up == SIZE_TREE_NONE)
		fits->root = new;
	else if (v[up].low == old)
		v[up].low = new;
	else
		v[up].high = new;
	if (new != SIZE_TREE_NONE)
		v[new].up = up;
}

/* Exchanges an item with its parent, keeping the order. */
static void fit_rotate(struct size_tree *fits, uint32_t i)
{
	struct fit *v = fits->v;
	uint32_t parent = v[i].up, inner;

	fit_replace(fits, v[parent].up, parent, i);
	if (v[parent].low == i) {
		inner = v[i].high;
		v[parent].low = inner;
		v[i].high = parent;
	} else {
		inner = v[i].low;
		v[parent].high = inner;
		v[i].low = parent;
	}
	if (inner != SIZE_TREE_NONE)
		v[inner].up = parent;
	v[parent].up = i;
	fit_update(v, parent);
	fit_update(v, i);
}

void size_tree_insert(struct size_tree *fits, uint32_t item, uint64_t size, uint32_t at)
{
	struct fit *v = fits->v;
	uint32_t up = at;

	v[item] =
		(struct fit){ size, size, SIZE_TREE_NONE, SIZE_TREE_NONE, SIZE_TREE_NONE, priority_of(item) };
	if (at == SIZE_TREE_NONE) {
		fits->root = item;
		return;
	}
	if (v[at].low == SIZE_TREE_NONE) {
		v[at].low = item;
	} else {
		for (up = v[at].low; v[up].high != SIZE_TREE_NONE;)
			up = v[up].high;
		v[up].high = item;
	}
	v[item].up = up;
	while (v[item].up != SIZE_TREE_NONE && v[v[item].up].priority < v[item].priority)
		fit_rotate(fits, item);
	for (up = v[item].up; up != SIZE_TREE_NONE && v[up].max < size; up = v[up].up)
		v[up].max = size;
}

void size_tree_remove(struct size_tree *fits, uint32_t item)
{
	struct fit *v = fits->v;

	while (v[item].low != SIZE_TREE_NONE && v[item].high != SIZE_TREE_NONE)
		fit_rotate(fits,
			   v[v[item].low].priority >= v[v[item].high].priority ? v[item].low : v[item].high);
	fit_replace(fits, v[item].up, item, v[item].low != SIZE_TREE_NONE ? v[item].low : v[item].high);
	for (uint32_t up = v[item].up; up != SIZE_TREE_NONE; up = v[up].up)
		fit_update(v, up);
}

/* The first of a subtree, which may be none. */
static uint32_t fit_first(const struct fit *v, uint32_t i, uint64_t size)
{
	if (i == SIZE_TREE_NONE || v[i].max < size)
		return SIZE_TREE_NONE;
	for (;;) {
		if (v[i].low != SIZE_TREE_NONE && v[v[i].low].max >= size)
			i = v[i].low;
		else if (v[i].size >= size)
			return i;
		else
			i = v[i].high;
	}
}

uint32_t size_tree_find(const struct size_tree *fits, uint32_t at, uint64_t size)
{
	const struct fit *v = fits->v;
	uint32_t i = at, from = SIZE_TREE_NONE, found;

	if (v[fits->root].max < size)
		return SIZE_TREE_NONE;
	/* Upwards, only what follows: a parent whose low side we come from, and its high side. */
	for (; i != SIZE_TREE_NONE; from = i, i = v[i].up) {
		if (from != SIZE_TREE_NONE && v[i].high == from)
			continue;
		if (v[i].size >= size)
			return i;
		found = fit_first(v, v[i].high, size);
		if (found != SIZE_TREE_NONE)
			return found;
	}
	return fit_first(v, fits->root, size);
}
