/* SPDX-License-Identifier: MIT */
/* The rings' consumers in the order of their next events: a binary heap, for a process of a thousand threads. */
#ifndef TRACE_RECORD_MERGE_H
#define TRACE_RECORD_MERGE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm.h"

struct merge_item {
	uint64_t stamp;   /* of the consumer's next event */
	uint32_t ring_id; /* with equal stamps the lower one is first */
};

/* Invariant: no item is before the one at half its place. The first place is 1. */
struct merge {
	uint32_t n;
	struct merge_item items[SHM_RINGS + 1];
};

static inline void merge_clear(struct merge *merge)
{
	merge->n = 0;
}

static inline bool merge_is_before(const struct merge_item *a, const struct merge_item *b)
{
	return a->stamp < b->stamp || (a->stamp == b->stamp && a->ring_id < b->ring_id);
}

/* Adds a consumer that is not in it. */
static inline void merge_add(struct merge *merge, struct merge_item item)
{
	uint32_t at = ++merge->n;

	assert(merge->n <= SHM_RINGS);
	for (; at > 1 && merge_is_before(&item, &merge->items[at / 2]); at /= 2)
		merge->items[at] = merge->items[at / 2];
	merge->items[at] = item;
}

/* NULL: there is none. */
static inline const struct merge_item *merge_first(const struct merge *merge)
{
	return merge->n ? &merge->items[1] : NULL;
}

/* The stamp behind the first one, at most `most`. */
static inline uint64_t merge_second_stamp(const struct merge *merge, uint64_t most)
{
	for (uint32_t i = 2; i <= 3 && i <= merge->n; i++)
		most = merge->items[i].stamp < most ? merge->items[i].stamp : most;
	return most;
}

/* Puts another item where the first one was. */
static inline void merge_sink(struct merge *merge, struct merge_item item)
{
	uint32_t at = 1, child;

	for (; (child = 2 * at) <= merge->n; at = child) {
		if (child < merge->n && merge_is_before(&merge->items[child + 1], &merge->items[child]))
			child++;
		if (!merge_is_before(&merge->items[child], &item))
			break;
		merge->items[at] = merge->items[child];
	}
	merge->items[at] = item;
}

/* The first consumer's next event is another one. */
static inline void merge_set_first(struct merge *merge, uint64_t stamp)
{
	assert(merge->n > 0);
	merge_sink(merge, (struct merge_item){ stamp, merge->items[1].ring_id });
}

/* The first consumer has no next event. */
static inline void merge_drop_first(struct merge *merge)
{
	assert(merge->n > 0);
	merge->n--;
	if (merge->n)
		merge_sink(merge, merge->items[merge->n + 1]);
}

#endif
