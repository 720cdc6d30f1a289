/* SPDX-License-Identifier: MIT */
/*
 * A profile in the making, for the files that account for records: profile.c observes, profile_sums.c adds up whole
 * chunks token by token, profile_records.c follows single records.
 */
#ifndef ANALYZE_PROFILE_STATE_H
#define ANALYZE_PROFILE_STATE_H

#include "block_map.h"
#include "clock.h"
#include "effect.h"
#include "profile.h"
#include "row_table.h"
#include "sample_weight.h"

/*
 * Invariants: many_threads implies any_thread, and other_blocks is empty without it. `ended` implies `begun`. now_ns never falls.
 * passed implies that point_ns is set. Without a window and a point in time, total is what all rows' live blocks weigh.
 */
struct profile {
	struct observer observer;
	const struct settings *settings;
	const struct profile_query *query;

	struct row_table table;
	struct block_map other_blocks; /* live blocks of threads other than the first, to their rows */
	bool any_thread;               /* table.first_thread is known */
	bool many_threads;             /* a second thread made a call */
	bool lacks_threads;            /* frees don't name their blocks, so all rows are the first thread's */

	uint64_t total, best; /* Massif's total, now and at the peak */
	struct clock clock;
	uint64_t now; /* what the clock shows at the present call */
	uint64_t now_ns;
	uint64_t point_ns;    /* of the point in time, once it is known */
	uint64_t first_block; /* blocks with a lower index are older than `from` */
	bool begun, ended;    /* the times `from`, `until` have passed */
	bool passed;          /* the point of AT_TIME has */
	bool allocs_begun;    /* alloc_from and alloc_record have */
	uint64_t alloc_begin_ns;

	struct {
		uint64_t *changes; /* by token of a chunk: what a record adds to the total */
		uint32_t *counts;  /* by token: records */
		uint32_t room_changes, room_counts;
	} tokens; /* profile_sums.c's */

	/* Of the present chunk. */
	const struct mst_kind *kinds;
	uint64_t mean; /* of the sample (sample_weight.h); 0: no sample */
	unsigned time_shift;
	bool initial; /* it holds what was live when the trace begins */
};

/* Whether blocks of before a point don't count. */
static inline bool profile_has_from(const struct profile_query *query)
{
	return query->from || query->first_block;
}

static inline bool profile_counts(const struct profile *p, uint32_t kind)
{
	return p->kinds[kind].op != MST_OP_UNKNOWN;
}

/* The amount that a block, or in a sample the blocks that it stands for, adds to the total. */
static inline uint64_t profile_weight(const struct profile *p, uint32_t kind)
{
	const struct mst_kind *k = &p->kinds[kind];
	return weight_bytes(p->mean, k->size, effect_usable(p->settings, k) + p->settings->heap_admin);
}

/* The amount that a record adds to the total; negative ones wrap. */
static inline uint64_t profile_change(const struct profile *p, const struct mst_token *s)
{
	if (s->role >= MST_CALL || !profile_counts(p, s->kind))
		return 0;
	const uint64_t weight = profile_weight(p, s->kind);
	return s->role == MST_ALLOC ? weight : -weight;
}

/*
 * True if no limit of time lies inside the present chunk: the next limit, if any, comes after it. With the clock of
 * bytes only single calls have a time.
 */
bool profile_is_timeless(const struct profile *profile);

/* From the present call on, what is allocated counts. */
void profile_begin_allocs(struct profile *profile);

/* The time of a record of a decoded chunk, in ns. */
uint64_t profile_record_ns(const struct profile *profile, const struct mst_chunk *chunk, uint32_t record);

/* True if the query asks for the peak and the chunk can exceed the peak so far. */
bool profile_can_peak(const struct profile *profile, const struct mst_chunk *chunk);

/* Accounts for a chunk whose single records don't matter; with a new peak in it, in two parts. 0 or an enum mst_error. */
int profile_add_sums(struct profile *profile, const struct mst_chunk *chunk);

/* Accounts for a chunk record by record. 0 or an enum mst_error. */
int profile_add_records(struct profile *profile, const struct mst_chunk *chunk);

#endif
