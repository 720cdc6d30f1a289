/* SPDX-License-Identifier: MIT */
/*
 * An observer of a second pass that says what the peak would have been: without the blocks of some groups of stacks, and
 * with blocks freed earlier than they were. All figures are exact; only chunks in which one of them can change are looked
 * at record by record. For traces that aren't sampled.
 */
#ifndef ANALYZE_PEAK_WITHOUT_H
#define ANALYZE_PEAK_WITHOUT_H

#include "observer.h"

struct peak_without;

enum { WITHOUT_MOST = 16, EARLY_MOST = 8 };

/* Blocks of a group that were live at the peak and freed soon after it, had they been freed after block `last` came. */
struct peak_early {
	uint32_t group;
	uint64_t bytes; /* of all these blocks */
	uint64_t last;  /* index of the youngest one */
};

struct peak_without_query {
	const uint32_t *group_of; /* by stack; MST_NONE: of no group */
	uint32_t n_stacks, n_groups;
	uint32_t removed[WITHOUT_MOST]; /* groups; first the first is left out, then the first two ... */
	uint64_t floors[WITHOUT_MOST];  /* the peak without the first, the first two ... is no lower */
	uint32_t n_removed;
	struct peak_early early[EARLY_MOST];
	uint32_t n_early;
	const uint64_t *
		early_frees; /* the trace's records that free such blocks, of these and other groups; in order */
	uint32_t n_early_frees;
	uint64_t peak;  /* index of the block with which the peak is reached */
	uint64_t until; /* the last block that comes soon after it */
};

/* The query, and what it points to, must outlive it. NULL: no memory. */
struct peak_without *peak_without_create(const struct peak_without_query *query);
void peak_without_destroy(struct peak_without *without); /* NULL is allowed */

struct observer *peak_without_observer(struct peak_without *without);

/* After the pass: the peak without the first `n` groups, 0 to n_removed. */
uint64_t peak_without_first(const struct peak_without *without, uint32_t n);

/* After the pass: the peak if the blocks of query->early[i] had been freed early. */
uint64_t peak_without_early(const struct peak_without *without, uint32_t i);

/* The bytes by which a group grew from query->early[i].last to the peak; negative ones modulo 2^64. */
uint64_t peak_without_growth(const struct peak_without *without, uint32_t i, uint32_t group);

#endif
