/* SPDX-License-Identifier: MIT */
#include "buckets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* Where the cells of each node lie. */
struct layout {
	size_t *begins, *ends; /* by node, in cells.items; [n_nodes + 1] */
};

static void layout_finish(struct layout *layout)
{
	free(layout->begins);
	free(layout->ends);
}

/* Counts the cells of each node, and lays them out, so that no more memory is needed. False: no memory. */
static bool layout_make(struct layout *l, const struct flows *flows, const struct buckets *b,
			const uint32_t *of_stacks, uint32_t n_nodes)
{
	uint16_t *seen = calloc(n_nodes + (size_t)1, sizeof(*seen)); /* the last bucket, + 1 */
	struct flows_cursor cursor = { 0 };
	struct flow flow;
	l->begins = calloc(n_nodes + (size_t)1, sizeof(*l->begins));
	l->ends = calloc(n_nodes + (size_t)1, sizeof(*l->ends));
	const bool fine = seen && l->begins && l->ends;
	while (fine && flows_next(flows, &cursor, &flow)) {
		const uint32_t node = of_stacks[flow.stack], bucket = b->of_slices[flow.slice];
		assert(node < n_nodes);
		if (flow.slice == 0 || seen[node] == bucket + 1)
			continue;
		seen[node] = (uint16_t)(bucket + 1);
		l->begins[node + 1]++;
	}
	for (uint32_t i = 0; fine && i < n_nodes; i++) {
		l->begins[i + 1] += l->begins[i];
		l->ends[i] = l->begins[i];
	}
	free(seen);
	return fine;
}

/* Moves the sums of a bucket to the cells. */
static void end_bucket(struct cells *cells, struct layout *l, struct flow_sums *sums, uint32_t bucket)
{
	for (uint32_t i = 0; i < sums->n_touched; i++) {
		const uint32_t node = sums->touched[i];
		struct flow *sum = &sums->items[node];
		sums->is_touched[node] = false;
		if (is_empty(sum))
			continue;
		assert(l->ends[node] < l->begins[node + 1]);
		sum->slice = bucket;
		cells->items[l->ends[node]++] = *sum;
	}
	sums->n_touched = 0;
}

/* Closes the gaps that empty cells left. */
static void close_up(struct cells *cells, const struct layout *l, uint32_t n_nodes)
{
	cells->n = 0;
	for (uint32_t i = 0; i < n_nodes; i++) {
		const size_t n = l->ends[i] - l->begins[i];
		memmove(cells->items + cells->n, cells->items + l->begins[i], n * sizeof(*cells->items));
		cells->n += n;
	}
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

static bool collect(struct cells *cells, struct layout *layout, const struct flows *flows,
		    const struct buckets *b, const uint32_t *of_stacks)
{
	struct flow_sums sums = { 0 };
	struct flows_cursor cursor = { 0 };
	struct flow flow;
	uint32_t bucket = 0;
	bool fine = true;
	while (fine && flows_next(flows, &cursor, &flow)) {
		const uint32_t node = of_stacks[flow.stack];
		if (flow.slice == 0) {
			add_flow(&cells->initial[node], &flow, 0);
			continue;
		}
		if (b->of_slices[flow.slice] != bucket) {
			end_bucket(cells, layout, &sums, bucket);
			bucket = b->of_slices[flow.slice];
		}
		struct flow *sum = flow_sums_of(&sums, node);
		if (sum)
			add_flow(sum, &flow, b->highest_slice[bucket]);
		fine = sum;
	}
	if (fine)
		end_bucket(cells, layout, &sums, bucket);
	flow_sums_finish(&sums);
	return fine;
}

bool cells_collect(struct cells *cells, const struct flows *flows, const struct buckets *b,
		   const uint32_t *of_stacks, uint32_t n_nodes, size_t most)
{
	struct layout layout = { 0 };
	bool fine = layout_make(&layout, flows, b, of_stacks, n_nodes);
	cells->n = fine ? layout.begins[n_nodes] : 0;
	if (fine && cells->n <= most) {
		cells->initial = calloc(n_nodes + (size_t)1, sizeof(*cells->initial));
		cells->items = malloc((cells->n + 1) * sizeof(*cells->items));
		fine = cells->initial && cells->items && collect(cells, &layout, flows, b, of_stacks);
		if (fine)
			close_up(cells, &layout, n_nodes);
	}
	layout_finish(&layout);
	return fine;
}
