/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

bool ranges_add(struct ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value)
{
	if (lo >= hi)
		return true;
	if (ranges->n == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 16;
		struct range *v;

		if (capacity > INT32_MAX)
			return false;
		v = realloc(ranges->v, capacity * sizeof(*v));
		if (!v)
			return false;
		ranges->v = v;
		ranges->capacity = capacity;
	}
	ranges->v[ranges->n] = (struct range){ lo, hi, value, (uint32_t)ranges->n };
	ranges->n++;
	return true;
}

static int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The ranges that begin at or before the sweep's position: a binary heap, the last added on top. */
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

/* Each round takes a range in or retires one, hence at most 2n pieces. */
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

bool ranges_seal(struct ranges *ranges)
{
	struct heap heap = { 0, NULL };
	struct range *out = NULL;

	if (ranges->n == 0)
		return true;
	heap.v = malloc(ranges->n * sizeof(*heap.v));
	out = malloc(2 * ranges->n * sizeof(*out));
	if (!heap.v || !out) {
		free(heap.v);
		free(out);
		ranges_finish(ranges);
		return false;
	}
	qsort(ranges->v, ranges->n, sizeof(*ranges->v), range_compare);
	ranges->capacity = 2 * ranges->n;
	ranges->n = ranges_sweep(ranges, &heap, out);
	free(heap.v);
	free(ranges->v);
	ranges->v = out;
	return true;
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t address)
{
	size_t lo = 0, hi = ranges->n;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (ranges->v[middle].hi <= address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < ranges->n && ranges->v[lo].lo <= address ? ranges->v[lo].value : RANGES_NONE;
}

void ranges_finish(struct ranges *ranges)
{
	free(ranges->v);
	*ranges = (struct ranges){ 0, 0, NULL };
}
