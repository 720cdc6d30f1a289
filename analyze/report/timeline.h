/* SPDX-License-Identifier: MIT */
/*
 * An observer that says how much was live as time went by, of all stacks and of each: at the ends of up to
 * TIMELINE_BUCKETS equal spans of time, the buckets. A chunk that lies in one bucket is accounted by its sums.
 *
 * Figures of a sampled trace are estimates (sample_weight.h). They are unsigned and may wrap in a hostile trace.
 */
#ifndef ANALYZE_TIMELINE_H
#define ANALYZE_TIMELINE_H

#include "observer.h"

enum { TIMELINE_BUCKETS = 200 };

struct timeline;

/* Of times from `begin_ns` to `end_ns`; what is earlier or later counts in the first or last bucket. NULL: no memory. */
struct timeline *timeline_create(uint64_t begin_ns, uint64_t end_ns);
void timeline_destroy(struct timeline *timeline); /* NULL is allowed */

struct observer *timeline_observer(struct timeline *timeline);

struct timeline_point {
	uint64_t bytes, blocks;    /* live at the end of the bucket */
	uint64_t allocated, calls; /* in the bucket: bytes, and calls that gave a block */
};

/*
 * After the replay: the buckets in order, *n of them. Bucket i ends before timeline_begins_ns(i + 1). If the changes of
 * many stacks would take too much memory, there are fewer, longer buckets.
 */
const struct timeline_point *timeline_points(const struct timeline *timeline, uint32_t *n);
uint64_t timeline_begins_ns(const struct timeline *timeline, uint32_t bucket);

#define TIMELINE_MOST ((int64_t)1 << 61)

/* Live bytes with a sign, of at most TIMELINE_MOST: differences and quarters of levels cannot overflow. */
static inline int64_t timeline_level(uint64_t bytes)
{
	const int64_t level = (int64_t)bytes;
	if (level > TIMELINE_MOST)
		return TIMELINE_MOST;
	return level < -TIMELINE_MOST ? -TIMELINE_MOST : level;
}

/*
 * After the replay: the live bytes of groups of stacks. `group_of` says by stack the group, or MST_NONE, of the first
 * `n_stacks` stacks; series[group * n + bucket] becomes the live bytes at the end of each of the n buckets.
 */
void timeline_follow(const struct timeline *timeline, const uint32_t *group_of, uint32_t n_stacks,
		     uint32_t n_groups, int64_t *series);

/* Of each group no more than the highest of these, at least 0. False: no memory. */
bool timeline_highest(const struct timeline *timeline, const uint32_t *group_of, uint32_t n_stacks,
		      uint32_t n_groups, int64_t *highest);

#endif
