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

void fits_begin(struct fits *fits)
{
	*fits = (struct fits){ .root = FITS_NONE };
}

void fits_finish(struct fits *fits)
{
	free(fits->v);
	fits_begin(fits);
}

bool fits_reserve(struct fits *fits, uint32_t n)
{
	struct fit *v = realloc(fits->v, n * sizeof(*v));

	if (v)
		fits->v = v;
	return v;
}

static void fit_update(struct fit *v, uint32_t i)
{
	uint64_t max = v[i].size;

	if (v[i].low != FITS_NONE && v[v[i].low].max > max)
		max = v[v[i].low].max;
	if (v[i].high != FITS_NONE && v[v[i].high].max > max)
		max = v[v[i].high].max;
	v[i].max = max;
}

/* Puts `new`, which may be none, where `old` is below `up`, or at the root. */
static void fit_replace(struct fits *fits, uint32_t up, uint32_t old, uint32_t new)
{
	struct fit *v = fits->v;

	if (up == FITS_NONE)
		fits->root = new;
	else if (v[up].low == old)
		v[up].low = new;
	else
		v[up].high = new;
	if (new != FITS_NONE)
		v[new].up = up;
}

/* Exchanges an item with its parent, keeping the order. */
static void fit_rotate(struct fits *fits, uint32_t i)
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
	if (inner != FITS_NONE)
		v[inner].up = parent;
	v[parent].up = i;
	fit_update(v, parent);
	fit_update(v, i);
}

void fits_insert(struct fits *fits, uint32_t item, uint64_t size, uint32_t at)
{
	struct fit *v = fits->v;
	uint32_t up = at;

	v[item] = (struct fit){ size, size, FITS_NONE, FITS_NONE, FITS_NONE, priority_of(item) };
	if (at == FITS_NONE) {
		fits->root = item;
		return;
	}
	if (v[at].low == FITS_NONE) {
		v[at].low = item;
	} else {
		for (up = v[at].low; v[up].high != FITS_NONE;)
			up = v[up].high;
		v[up].high = item;
	}
	v[item].up = up;
	while (v[item].up != FITS_NONE && v[v[item].up].priority < v[item].priority)
		fit_rotate(fits, item);
	for (up = v[item].up; up != FITS_NONE && v[up].max < size; up = v[up].up)
		v[up].max = size;
}

void fits_remove(struct fits *fits, uint32_t item)
{
	struct fit *v = fits->v;

	while (v[item].low != FITS_NONE && v[item].high != FITS_NONE)
		fit_rotate(fits,
			   v[v[item].low].priority >= v[v[item].high].priority ? v[item].low : v[item].high);
	fit_replace(fits, v[item].up, item, v[item].low != FITS_NONE ? v[item].low : v[item].high);
	for (uint32_t up = v[item].up; up != FITS_NONE; up = v[up].up)
		fit_update(v, up);
}

/* The first of a subtree, which may be none. */
static uint32_t fit_first(const struct fit *v, uint32_t i, uint64_t size)
{
	if (i == FITS_NONE || v[i].max < size)
		return FITS_NONE;
	for (;;) {
		if (v[i].low != FITS_NONE && v[v[i].low].max >= size)
			i = v[i].low;
		else if (v[i].size >= size)
			return i;
		else
			i = v[i].high;
	}
}

uint32_t fits_find(const struct fits *fits, uint32_t at, uint64_t size)
{
	const struct fit *v = fits->v;
	uint32_t i = at, from = FITS_NONE, found;

	if (v[fits->root].max < size)
		return FITS_NONE;
	/* Upwards, only what follows: a parent whose low side we come from, and its high side. */
	for (; i != FITS_NONE; from = i, i = v[i].up) {
		if (from != FITS_NONE && v[i].high == from)
			continue;
		if (v[i].size >= size)
			return i;
		found = fit_first(v, v[i].high, size);
		if (found != FITS_NONE)
			return found;
	}
	return fit_first(v, fits->root, size);
}
