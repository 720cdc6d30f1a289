/* SPDX-License-Identifier: MIT */
#include "buckets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "flow_log.h"

/* ---- Borders ---- */

/* The bucket whose beginning matters least: little moved in it and before it. 0: all matter. */
static uint32_t find_least(const struct flows_slice *items, uint32_t n)
{
	uint32_t least = 0;
	uint64_t least_moved = UINT64_MAX;
	for (uint32_t i = 1; i < n; i++) {
		const uint64_t moved = items[i - 1].moved + items[i].moved;
		if (items[i].flags == 0 && moved < least_moved) {
			least = i;
			least_moved = moved;
		}
	}
	return least;
}

void buckets_choose(struct buckets *b, const struct flows *flows)
{
	struct flows_slice items[FLOWS_SLICES];
	uint32_t n_slices, n = 0, firsts[FLOWS_SLICES];
	const struct flows_slice *slices = flows_slices(flows, &n_slices);
	*b = (struct buckets){ 0 };
	assert(n_slices > 1);
	for (uint32_t i = 1; i < n_slices; i++) {
		firsts[n] = i;
		items[n++] = slices[i];
	}
	while (n > BUCKETS_MOST) {
		const uint32_t i = find_least(items, n);
		assert(i > 0);
		items[i - 1].moved += items[i].moved;
		memmove(items + i, items + i + 1, (n - i - 1) * sizeof(*items));
		memmove(firsts + i, firsts + i + 1, (n - i - 1) * sizeof(*firsts));
		n--;
	}
	b->n = n;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t last = i + 1 < n ? firsts[i + 1] : n_slices;
		uint32_t highest = firsts[i];
		b->border_ns[i] = items[i].begin_ns;
		b->flags[i] = items[i].flags;
		for (uint32_t s = firsts[i]; s < last; s++) {
			b->of_slices[s] = (uint16_t)i;
			if ((int64_t)slices[s].highest > (int64_t)slices[highest].highest)
				highest = s;
		}
		b->highest_slice[i] = highest;
		b->highest[i] = slices[highest].highest;
		b->highest_ns[i] = slices[highest].highest_ns;
	}
	b->border_ns[n] = flows_end_ns(flows);
}

/* ---- Cells ---- */

void cells_finish(struct cells *cells)
{
	free(cells->items);
	free(cells->initial);
	*cells = (struct cells){ 0 };
}

static bool is_empty(const struct flow *f)
{
	return !(f->came_bytes | f->came_blocks | f->went_bytes | f->went_blocks | f->high_bytes |
		 f->high_blocks);
}

/* Moves the sums of a bucket to the cells. */
static bool end_bucket(struct cells *cells, struct flow_sums *sums, uint32_t bucket)
{
	for (uint32_t i = 0; i < sums->n_touched; i++) {
		struct flow *sum = &sums->items[sums->touched[i]];
		sums->is_touched[sums->touched[i]] = false;
		if (is_empty(sum))
			continue;
		if (!array_reserve(&cells->items, cells->n, &cells->room, sizeof(*cells->items)))
			return false;
		sum->slice = bucket;
		cells->items[cells->n++] = *sum;
	}
	sums->n_touched = 0;
	return true;
}

static void add_flow(struct flow *sum, const struct flow *f, uint32_t highest_slice)
{
	sum->came_bytes += f->came_bytes;
	sum->came_blocks += f->came_blocks;
	sum->went_bytes += f->went_bytes;
	sum->went_blocks += f->went_blocks;
	if (f->slice < highest_slice) {
		sum->high_bytes += f->came_bytes - f->went_bytes;
		sum->high_blocks += f->came_blocks - f->went_blocks;
	} else if (f->slice == highest_slice) {
		sum->high_bytes += f->high_bytes;
		sum->high_blocks += f->high_blocks;
	}
}

/* The cells are in the order of buckets; brings them into that of nodes. */
static bool sort_by_node(struct cells *cells, uint32_t n_nodes)
{
	size_t *at = calloc(n_nodes + (size_t)1, sizeof(*at));
	struct flow *sorted = malloc((cells->n + 1) * sizeof(*sorted));
	const bool fine = at && sorted;
	for (size_t i = 0; fine && i < cells->n; i++)
		at[cells->items[i].stack + 1]++;
	for (uint32_t i = 0; fine && i < n_nodes; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; fine && i < cells->n; i++)
		sorted[at[cells->items[i].stack]++] = cells->items[i];
	free(at);
	if (!fine) {
		free(sorted);
		return false;
	}
	free(cells->items);
	cells->items = sorted;
	cells->room = cells->n + 1;
	return true;
}

bool cells_collect(struct cells *cells, const struct flows *flows, const struct buckets *b,
		   const uint32_t *of_stacks, uint32_t n_nodes)
{
	struct flow_sums sums = { 0 };
	struct flows_cursor cursor = { 0 };
	struct flow flow;
	uint32_t bucket = 0;
	bool fine = (cells->initial = calloc(n_nodes + (size_t)1, sizeof(*cells->initial)));
	while (fine && flows_next(flows, &cursor, &flow)) {
		const uint32_t node = of_stacks[flow.stack];
		assert(node < n_nodes);
		if (flow.slice == 0) {
			add_flow(&cells->initial[node], &flow, 0);
			continue;
		}
		if (b->of_slices[flow.slice] != bucket) {
			fine = end_bucket(cells, &sums, bucket);
			bucket = b->of_slices[flow.slice];
		}
		struct flow *sum = fine ? flow_sums_of(&sums, node) : NULL;
		if (sum)
			add_flow(sum, &flow, b->highest_slice[bucket]);
		fine = sum;
	}
	fine = fine && end_bucket(cells, &sums, bucket) && sort_by_node(cells, n_nodes);
	flow_sums_finish(&sums);
	return fine;
}
