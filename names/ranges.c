/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "check.h"
#include "radix_sort.h"

bool ranges_add(struct ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value)
{
	if (lo >= hi)
		return true;
	if (ranges->n == INT32_MAX ||
	    !array_reserve(&ranges->v, ranges->n, &ranges->capacity, sizeof(*ranges->v)))
		return false;
	ranges->v[ranges->n] = (struct range){ lo, hi, value, (uint32_t)ranges->n };
	ranges->n++;
	return true;
}

/* Sorts by beginning, stably. False: no memory. */
static bool sort_ranges(struct ranges *ranges)
{
	struct radix_item *items = malloc(ranges->n * sizeof(*items));
	struct range *sorted = malloc(ranges->n * sizeof(*sorted));
	bool fine = items && sorted && ranges->n <= UINT32_MAX;

	for (size_t i = 0; fine && i < ranges->n; i++)
		items[i] = (struct radix_item){ ranges->v[i].lo, (uint32_t)i };
	fine = fine && radix_sort(items, ranges->n);
	for (size_t i = 0; fine && i < ranges->n; i++)
		sorted[i] = ranges->v[items[i].number];
	free(items);
	if (!fine) {
		free(sorted);
		return false;
	}
	free(ranges->v);
	ranges->v = sorted;
	ranges->capacity = ranges->n;
	return true;
}

/* The ranges that begin at or before the sweep's position: a binary heap, with the range added last on top. */
struct heap {
	size_t n;
	const struct range **v;
};

static void heap_push(struct heap *heap, const struct range *range)
{
	size_t i = heap->n++;

	for (; i && heap->v[(i - 1) / 2]->order < range->order; i = (i - 1) / 2)
		heap->v[i] = heap->v[(i - 1) / 2];
	heap->v[i] = range;
}

static void heap_pop(struct heap *heap)
{
	const struct range *last = heap->v[--heap->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= heap->n)
			break;
		if (child + 1 < heap->n && heap->v[child + 1]->order > heap->v[child]->order)
			child++;
		if (heap->v[child]->order <= last->order)
			break;
		heap->v[i] = heap->v[child];
		i = child;
	}
	heap->v[i] = last;
}

static size_t piece_add(struct range *out, size_t n, uint64_t lo, uint64_t hi, uint32_t value)
{
	if (n && out[n - 1].hi == lo && out[n - 1].value == value) {
		out[n - 1].hi = hi;
		return n;
	}
	out[n] = (struct range){ lo, hi, value, 0 };
	return n + 1;
}

/* Writes the pieces to out[2n]: each round takes a range in or retires one, so there are not more. Returns how many. */
static size_t ranges_sweep(const struct ranges *ranges, struct heap *heap, struct range *out)
{
	uint64_t at = 0;
	size_t i = 0, n = 0;

	for (;;) {
		while (heap->n && heap->v[0]->hi <= at)
			heap_pop(heap);
		if (heap->n == 0 && i == ranges->n)
			return n;
		if (heap->n) {
			const struct range *top = heap->v[0];
			uint64_t hi = top->hi;

			if (i < ranges->n && ranges->v[i].lo < hi)
				hi = ranges->v[i].lo;
			n = piece_add(out, n, at, hi, top->value);
			at = hi;
		} else {
			at = ranges->v[i].lo;
		}
		while (i < ranges->n && ranges->v[i].lo <= at)
			heap_push(heap, &ranges->v[i++]);
	}
}

/* Joins ranges that were added in order and do not overlap. False: they were not, or do; nothing is done. */
static bool join_in_place(struct ranges *ranges)
{
	size_t n = 0;

	for (size_t i = 1; i < ranges->n; i++) {
		if (ranges->v[i].lo < ranges->v[i - 1].hi)
			return false;
	}
	for (size_t i = 0; i < ranges->n; i++) {
		const struct range *range = &ranges->v[i];

		n = piece_add(ranges->v, n, range->lo, range->hi, range->value);
	}
	ranges->n = n;
	return true;
}

static void check_sealed(const struct ranges *ranges)
{
	for (size_t i = 0; i < ranges->n; i++) {
		assert(ranges->v[i].lo < ranges->v[i].hi);
		assert(i == 0 || ranges->v[i - 1].hi <= ranges->v[i].lo);
	}
}

static bool sweep(struct ranges *ranges)
{
	struct heap heap = { 0, NULL };
	struct range *out;

	heap.v = malloc(ranges->n * sizeof(*heap.v));
	out = malloc(2 * ranges->n * sizeof(*out));
	if (!heap.v || !out || !sort_ranges(ranges)) {
		free(heap.v);
		free(out);
		ranges_finish(ranges);
		return false;
	}
	ranges->capacity = 2 * ranges->n;
	ranges->n = ranges_sweep(ranges, &heap, out);
	assert(ranges->n <= ranges->capacity);
	free(heap.v);
	free(ranges->v);
	ranges->v = out;
	return true;
}

bool ranges_seal(struct ranges *ranges)
{
	const bool fine = join_in_place(ranges) || sweep(ranges);

	if (check_wanted())
		check_sealed(ranges);
	return fine;
}

/* The first range that ends after `address`. */
static size_t range_behind(const struct ranges *ranges, uint64_t address)
{
	size_t lo = 0, hi = ranges->n;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (ranges->v[middle].hi <= address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t address)
{
	const size_t i = range_behind(ranges, address);

	return i < ranges->n && ranges->v[i].lo <= address ? ranges->v[i].value : RANGES_NONE;
}

uint32_t ranges_find_between(const struct ranges *ranges, uint64_t address, uint64_t *start)
{
	const size_t i = range_behind(ranges, address);

	if (i == 0 || i == ranges->n || ranges->v[i - 1].value != ranges->v[i].value)
		return RANGES_NONE;
	*start = ranges->v[i - 1].hi;
	return ranges->v[i].value;
}

void ranges_finish(struct ranges *ranges)
{
	free(ranges->v);
	*ranges = (struct ranges){ 0, 0, NULL };
}
