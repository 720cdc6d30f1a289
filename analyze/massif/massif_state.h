/* SPDX-License-Identifier: MIT */
/*
 * What the parts of massif.h's observer share. Private.
 *
 *   massif.c        the observer: begins, enters chunks, ends
 *   records.c       accounts a chunk record by record
 *   chunk_sums.c    accounts a chunk by its sums, where nothing can happen in it
 *   quiet_spans.c   adds up records between which nothing can happen
 *   live_records.c  applies records to the live blocks, for the trees of snapshots
 *   first_state.c   where a replay begins: an initial state, a key frame
 *   massif_pages.c  the same for pages (--pages-as-heap=yes)
 */
#ifndef ANALYZE_MASSIF_STATE_H
#define ANALYZE_MASSIF_STATE_H

#include <assert.h>

#include "block_effects.h"
#include "chunk_bounds.h"
#include "clock.h"
#include "effect.h"
#include "event_log.h"
#include "live_totals.h"
#include "massif.h"
#include "pages.h"
#include "requested_snapshots.h"
#include "snapshot.h"
#include "stack_depth.h"
#include "tree.h"

/* Bytes are modulo 2^64: a hostile trace may free more than it allocates. */
struct counters {
	uint64_t useful, total; /* bytes asked for; in all, with admin, rounding and stacks */
	uint64_t stacks;
	uint64_t clock;   /* in the settings' time unit */
	uint64_t changes; /* goes on when the others change, or the trees; how far says nothing */
};

/* Of the present chunk's records with one token. */
struct tally {
	uint32_t applied;    /* to the live blocks */
	uint32_t counted[2]; /* while they are counted: at even and odd places */
};

/* What the present chunk's tokens do; arrays by token. */
struct token_table {
	struct effect *effects;
	struct tally *tallies; /* made when the first record of the chunk is applied */
	uint32_t capacity;
	bool ready; /* for the chunk that comes next */
};

/* What the present chunk does as a whole. */
struct chunk_sums {
	struct bounds_sizes sizes;
	struct bounds bounds;
	bool plain; /* the bounds are by the chunk's sums alone: its tokens have not been looked at */
};

struct quiet_state {
	struct quiet_sums *sums; /* by token */
	uint32_t capacity;
	bool possible;     /* records of the present chunk may be passed over by what they add up to */
	bool summed;       /* `sums` are those of the present chunk */
	uint32_t added_up; /* first record behind the last span of fleeting snapshots */
};

/* With the setting pages_as_heap. */
struct page_state {
	struct pages *mapped; /* NULL: blocks are what counts */
	struct live *held;    /* what was mapped before the present change; NULL: what is mapped now */
	bool started;         /* the program has begun: what was mapped for it has been seen */
};

/*
 * Counters are those after the records of `chunk` done so far; live totals are those after its first `applied`
 * records, never more than are done. At the end of a chunk all are applied.
 */
struct massif {
	struct observer observer;
	const struct settings *settings;
	struct clock clock;
	struct counters counters;
	struct snapshots snapshots;
	bool took_snapshots; /* in the present chunk */
	struct requested requested;
	struct {
		uint64_t highest;
		size_t taken;
	} before;                         /* of `requested`, before the present chunk */
	const struct snapshot *peak;      /* has the true peak's `live`, after the end */
	const struct stack_depth *depths; /* NULL: stacks don't count */
	struct event_log *log;            /* may be NULL */
	uint64_t n_normal;                /* normal snapshots stored so far; for the log */

	const struct mst_reader *reader; /* NULL before the first chunk, as is `chunk` */
	const struct mst_chunk *chunk;
	struct token_table tokens;
	struct block_effects block_effects;
	struct chunk_sums sums;
	struct quiet_state quiet;

	struct live_totals live;
	uint32_t applied;
	struct page_state pages;
	bool failed; /* there was no memory */
};

/* Whether effects depend on single blocks, so that they are listed by record; else by token. */
static inline bool is_by_record(const struct massif *m)
{
	return m->block_effects.sizes != NULL;
}

static inline uint64_t positive(uint64_t n)
{
	return (int64_t)n > 0 ? n : 0;
}

/* The state after `records` records of the chunk. Field by field: no copy waits for stores of another width. */
static inline void snapshot_fill(struct snapshot *s, enum snapshot_kind kind, const struct counters *now,
				 uint32_t records)
{
	s->kind = kind;
	s->detailed = false;
	s->time = (int64_t)now->clock;
	s->heap = positive(now->useful);
	s->extra = positive(now->total - now->useful - now->stacks);
	s->stacks = positive(now->stacks);
	s->live = NULL;
	s->records = records;
	s->changes = now->changes;
}

static inline struct snapshot snapshot_of(enum snapshot_kind kind, const struct counters *now,
					  uint32_t records)
{
	struct snapshot s;

	snapshot_fill(&s, kind, now, records);
	return s;
}

/* ---- when a snapshot is due ---- */

/* The rest of massif_store(). */
void massif_stored(struct massif *m, enum snapshot_kind kind);

/* Stores a snapshot of the state after `records` records. Inline, so that the counters stay in registers. */
static inline void massif_store(struct massif *m, enum snapshot_kind kind, const struct counters *now,
				uint32_t records)
{
	snapshot_fill(snapshots_next(&m->snapshots), kind, now, records);
	massif_stored(m, kind);
}

/* The stored snapshots as they are after the first records of the chunk, for the requests that have come due. */
void massif_keep_all(struct massif *m);

/* After a change. */
static inline void consider_normal(struct massif *m, const struct counters *now, uint32_t records)
{
	if (__builtin_expect(now->clock >= m->snapshots.earliest, 0))
		massif_store(m, SNAPSHOT_NORMAL, now, records);
}

/* Before something is given back. */
static inline void consider_peak(struct massif *m, const struct counters *now, uint32_t records)
{
	if (now->total > m->snapshots.peak_limit && positive(now->total))
		massif_store(m, SNAPSHOT_PEAK, now, records);
}

/* After a change: the true peak. */
static inline void consider_true_peak(struct massif *m, const struct counters *now, uint32_t records)
{
	struct snapshot peak;

	if (positive(now->total) <= m->requested.highest)
		return;
	peak = snapshot_of(SNAPSHOT_PEAK, now, records);
	peak.detailed = true;
	requested_raise(&m->requested, &peak, now->total);
}

/* Before the clock goes on to `clock`: requests by time. */
static inline void consider_times(struct massif *m, const struct counters *before, uint64_t clock,
				  uint32_t records)
{
	if (__builtin_expect(clock > m->requested.next_time, 0)) {
		struct snapshot s = snapshot_of(SNAPSHOT_NORMAL, before, records);

		s.detailed = true;
		if (requested_pass(&m->requested, &s, clock))
			massif_keep_all(m);
	}
}

/* Before the record `records` of the chunk: requests at marks. */
static inline void consider_marks(struct massif *m, const struct counters *now, uint32_t records)
{
	const uint64_t record = m->chunk->first_record + records;

	if (__builtin_expect(record >= m->requested.next_mark, 0)) {
		struct snapshot s = snapshot_of(SNAPSHOT_NORMAL, now, records);

		s.detailed = true;
		if (requested_pass_marks(&m->requested, &s, record))
			massif_keep_all(m);
	}
}

/* From this time on there can be a snapshot, or a request is over. */
static inline uint64_t next_due(const struct massif *m)
{
	return m->requested.next_time < m->snapshots.earliest ? m->requested.next_time + 1
							      : m->snapshots.earliest;
}

/* ---- massif.c ---- */

/* Notes which requests had been answered before the present chunk. */
static inline void massif_note_requests(struct massif *m)
{
	m->before.highest = m->requested.highest;
	m->before.taken = m->requested.times.taken + m->requested.marks.taken;
}

/* Makes the chunk the present one. */
void massif_enter_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk);

/* The same, and finds out what its tokens do, unless that is known. False: no memory. */
bool massif_begin_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk);

/* ---- records.c ---- */

/* All records of the present chunk, with the stack pointer's changes between them. */
void massif_run_records(struct massif *m);

/* The stack pointer changes before record `i`. */
void massif_sp_change(struct massif *m, const struct sp_change *change, uint32_t i);

/* What record `i` of the present chunk does. */
struct effect massif_effect_at(const struct massif *m, uint32_t i);

/* How a realloc of a counted block that stays counted changes the total. */
uint64_t massif_change_of(const struct massif *m, const struct effect *old, const struct effect *now);

/* ---- quiet_spans.c ---- */

/*
 * Spans of the present chunk in which nothing can happen. The other two may be called if `quiet.possible` is set;
 * each returns the first record that it hasn't passed over, where a call begins, which may be `end` + 1.
 */
void massif_begin_quiet(struct massif *m);
/* Records [i, end) as far as no snapshot could be due. */
uint32_t massif_pass_quiet(struct massif *m, uint32_t i, uint32_t end);
/* Records [i, end), at one time, that have snapshots of which nothing will be left. */
uint32_t massif_pass_fleeting(struct massif *m, uint32_t i, uint32_t end);

/* ---- live_records.c ---- */

/* Brings the live totals to what they are after the first `n` records of the chunk. */
void massif_apply_records(struct massif *m, uint32_t n);

/* Bytes by context, of the pages or of the blocks as they are applied. NULL: no memory. */
struct live *massif_copy_live(const struct massif *m);

/*
 * Give the stored snapshots resp. the requested ones, up to those after `until` records of the chunk, their live
 * bytes. False: no memory.
 */
bool massif_fill_detailed(struct massif *m);
bool massif_fill_requested(struct massif *m, uint32_t until);

/* ---- first_state.c ---- */

/* The present chunk is of the initial state: its blocks come without a call, at the time of the beginning. 0 or an
 * enum mst_error.
 */
int massif_take_initial_state(struct massif *m);

/* ---- massif_pages.c ---- */

/* The pages' own way through an initial state, a chunk, and what is due at the end. 0 or an enum mst_error. */
int massif_take_pages(struct massif *m);
int massif_run_pages(struct massif *m);
void massif_end_pages(struct massif *m);
/* Live bytes by context. NULL: no memory. */
struct live *massif_copy_pages(const struct massif *m);

/* ---- chunk_sums.c: of the observer, see observer.h ---- */

bool massif_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk);
int massif_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk);

/* Whether all requests are by time and have passed. */
bool massif_satisfied(const struct observer *observer);

#endif
