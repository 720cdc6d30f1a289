/* SPDX-License-Identifier: MIT */
#include "crossings.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "check.h"

/* Cells that are kept: 96 MiB. Tests with MSREC_CHECK=1 reach the limit soon. */
static size_t most_cells(void)
{
	return check_wanted() ? 200 : (size_t)4 << 20;
}

void crossings_finish(struct crossings *c)
{
	free(c->items);
	index_map_finish(&c->numbers);
	*c = (struct crossings){ 0 };
}

/* ---- Order ---- */

static int compare(const void *a, const void *b)
{
	const struct crossing *x = a, *y = b;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (x->birth > y->birth) - (x->birth < y->birth);
}

/* Sorts `n` cells of one death, makes one of equal ones, and moves them to `to`, which is not above them. */
static size_t merge_run(struct crossing *items, size_t n, struct crossing *to)
{
	size_t merged = 0;
	array_sort(items, n, sizeof(*items), compare);
	for (size_t i = 0; i < n; i++) {
		const struct crossing item = items[i];
		if (merged && compare(&to[merged - 1], &item) == 0) {
			to[merged - 1].bytes += item.bytes;
			to[merged - 1].blocks += item.blocks;
		} else {
			to[merged++] = item;
		}
	}
	return merged;
}

/* The cells are in the order of deaths always: sorting takes no more memory than one slice's. */
void crossings_sort(struct crossings *c)
{
	size_t n = 0;
	for (size_t from = 0, end = 0; from < c->n; from = end) {
		while (end < c->n && c->items[end].death == c->items[from].death)
			end++;
		n += merge_run(c->items + from, end - from, c->items + n);
	}
	c->n = n;
	index_map_finish(&c->numbers);
}

/* Makes one group of two, until half of the room is free. */
static void coarsen(struct crossings *c)
{
	while (c->n > most_cells() / 2) {
		size_t n = 0;
		c->group_log2++;
		for (size_t i = 0; i < c->n; i++) {
			struct crossing item = c->items[i];
			item.birth /= 2;
			item.death /= 2;
			if (item.birth != item.death)
				c->items[n++] = item;
		}
		c->n = n;
		crossings_sort(c);
	}
}

/* ---- Adding ---- */

void crossings_begin_slice(struct crossings *c, uint64_t block)
{
	assert(c->n_slices < CROSSINGS_SLICES);
	c->begins[c->n_slices++] = block;
	index_map_finish(&c->numbers);
}

/* The slice in which a block that is older than the present one was allocated. */
static uint32_t slice_of(const struct crossings *c, uint64_t block)
{
	uint32_t low = 0, high = c->n_slices - 1;
	while (high - low > 1) {
		const uint32_t middle = (low + high) / 2;
		if (c->begins[middle] <= block)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool crossings_add(struct crossings *c, uint32_t stack, uint64_t block, uint64_t bytes, uint64_t blocks)
{
	assert(c->n_slices > 1 && block < crossings_oldest(c));
	const uint16_t birth = (uint16_t)(slice_of(c, block) >> c->group_log2);
	const uint16_t death = (uint16_t)((c->n_slices - 1) >> c->group_log2);
	const uint64_t key = (uint64_t)stack << 16 | birth;
	uint64_t number = c->n;
	if (birth == death)
		return true;
	if (!index_map_find(&c->numbers, key, &number)) {
		if (c->n >= most_cells()) {
			crossings_sort(c);
			coarsen(c);
			return crossings_add(c, stack, block, bytes, blocks);
		}
		if (!array_reserve(&c->items, c->n, &c->room, sizeof(*c->items)) ||
		    !index_map_put(&c->numbers, key, number))
			return false;
		c->items[c->n++] = (struct crossing){ .stack = stack, .birth = birth, .death = death };
	}
	c->items[number].bytes += bytes;
	c->items[number].blocks += blocks;
	return true;
}
