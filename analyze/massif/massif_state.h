/* SPDX-License-Identifier: MIT */
/*
 * What the parts of massif.h's observer share: record by record in massif.c, whole chunks by their sums in
 * massif_sums.c. Private.
 */
#ifndef ANALYZE_MASSIF_STATE_H
#define ANALYZE_MASSIF_STATE_H

#include "block_effects.h"
#include "chunk_bounds.h"
#include "effect.h"
#include "live_totals.h"
#include "massif.h"
#include "pages.h"
#include "requested_snapshots.h"
#include "snapshot.h"
#include "stack_depth.h"
#include "tree.h"

#define NS_PER_MS 1000000u

struct counters {
	uint64_t useful, total; /* bytes, in all and those asked for; the total includes stacks */
	uint64_t stacks;
	uint64_t clock;   /* in the settings' time unit */
	uint64_t changes; /* calls that changed the others, or the trees; a lull counts once, or not at all */
};

/* Of the present chunk's records with one token. */
struct tally {
	uint32_t applied;    /* to the live blocks */
	uint32_t counted[2]; /* while they are counted: at even and odd places */
};

/*
 * What a record adds, of what is added up where nothing else is asked: USEFUL, TOTAL, what of the latter is a RISE, and
 * CALLS: 1 if it is one that counts, and SAME_CALL if a block that comes with the next record is part of it.
 */
struct sum {
	uint64_t of __attribute__((vector_size(32), aligned(16)));
};
enum { USEFUL, TOTAL, RISE, CALLS };
#define SAME_CALL ((uint64_t)1 << 32)

struct massif {
	struct observer observer;
	const struct settings *settings;
	struct live_totals live; /* after the first `applied` records of the present chunk */
	uint32_t applied;
	struct snapshots snapshots;
	struct requested marks;
	const struct snapshot *peak; /* has the true peak's `live`, after the end */
	uint64_t peak_floor;         /* the true peak is not below this */
	struct counters counters;
	bool took_snapshots;         /* in the present chunk */
	bool failed;                 /* there was no memory */
	struct event_log *chronicle; /* may be NULL */
	const struct depths *depths; /* NULL: stacks don't count */
	uint64_t n_normal;           /* stored so far; only counted for the chronicle */

	/* The present chunk; NULL before the first. */
	const struct mst_reader *reader;
	const struct mst_chunk *chunk;
	uint64_t mean;          /* of the sample, see estimate.h */
	unsigned time_shift;    /* of its stamps */
	uint32_t stamp;         /* the last one that has been reached */
	struct effect *effects; /* by token */
	struct sum *sums;       /* by token, while lulls are looked for */
	struct tally *tallies;  /* by token; made when the first of its records is applied */
	uint32_t n_effects;
	bool rows;         /* `sums` tell by a falling total what may come behind a peak */
	bool lulls;        /* records may be passed over by what they add up to */
	uint32_t added_up; /* records before which no more snapshots leave no trace */
	bool by_record;    /* the ledger says what counts */
	bool prepared;     /* effects and contexts are those of the chunk that comes next */
	struct bounds_sizes sizes;
	bool plain; /* the leap is by the chunk's sums alone, so its tokens have not been looked at */
	struct bounds bounds;
	struct block_effects ledger;

	struct pages *pages; /* they are what counts, and nothing else; NULL: blocks are */
	struct live *held;   /* what was mapped before the present change; NULL: what is mapped now */
	bool started;        /* what was mapped at the start has been seen */
};

/* Stores a snapshot of the moment after `records` records. */
void massif_store(struct massif *m, enum snapshot_kind kind, struct counters now, uint32_t records);

/*
 * Give snapshots resp. marks, up to those after `until` records of the chunk, what is live at their
 * moments. False: no memory.
 */
bool massif_fill_detailed(struct massif *m);
bool massif_fill_marks(struct massif *m, uint32_t until);

/* The stored snapshots as they are after the first records of the chunk. */
void massif_keep_all(struct massif *m);

/* Stacks grow or shrink before record `i`. */
void massif_stack_step(struct massif *m, const struct depth_step *step, uint32_t i);

/* The pages' own way through a base, a chunk, and what is due at the end (massif_pages.c). 0 or an enum mst_error. */
int massif_take_pages(struct massif *m);
int massif_run_pages(struct massif *m);
void massif_end_pages(struct massif *m);
/* Live bytes by context. NULL: no memory. */
struct live *massif_copy_pages(const struct massif *m);

static inline uint64_t positive(uint64_t n)
{
	return (int64_t)n > 0 ? n : 0;
}

/* The moment after `records` records of the chunk. */
static inline struct snapshot snapshot_of(enum snapshot_kind kind, const struct counters *now,
					  uint32_t records)
{
	return (struct snapshot){
		.kind = kind,
		.time = (int64_t)now->clock,
		.heap = positive(now->useful),
		.extra = positive(now->total - now->useful - now->stacks),
		.stacks = positive(now->stacks),
		.records = records,
		.changes = now->changes,
	};
}

/* After something happened. */
static inline void consider_normal(struct massif *m, const struct counters *now, uint32_t records)
{
	if (__builtin_expect(now->clock >= m->snapshots.earliest, 0))
		massif_store(m, SNAPSHOT_NORMAL, *now, records);
}

/* Before something is given back. */
static inline void consider_peak(struct massif *m, const struct counters *now, uint32_t records)
{
	if (now->total > m->snapshots.peak_limit && positive(now->total))
		massif_store(m, SNAPSHOT_PEAK, *now, records);
}

/* After something happened. */
static inline void consider_peak_mark(struct massif *m, const struct counters *now, uint32_t records)
{
	struct snapshot peak;

	if (positive(now->total) <= m->marks.highest)
		return;
	peak = snapshot_of(SNAPSHOT_PEAK, now, records);
	peak.detailed = true;
	requested_raise(&m->marks, &peak, now->total);
}

/* Before the clock goes on to `clock`. */
static inline void consider_times(struct massif *m, const struct counters *before, uint64_t clock,
				  uint32_t records)
{
	if (__builtin_expect(clock > m->marks.next_time, 0)) {
		struct snapshot s = snapshot_of(SNAPSHOT_NORMAL, before, records);

		s.detailed = true;
		if (requested_pass(&m->marks, &s, clock))
			massif_keep_all(m);
	}
}

/* How far that moves the clock. */
static inline uint64_t ticks_of(const struct massif *m, uint64_t change)
{
	if (m->settings->time_unit != TIME_BYTES)
		return 0;
	return (int64_t)change < 0 ? -change : change;
}

static inline bool is_in_ms(const struct massif *m)
{
	return m->settings->time_unit != TIME_BYTES && m->settings->time_unit != TIME_INSTRUCTIONS;
}

/* The stamp that holds at a record at or behind the last one that was reached. */
static inline uint32_t stamp_at(const struct massif *m, uint32_t record)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t stamp = m->stamp;

	while (stamp + 1 < chunk->n_stamps && chunk->stamps[stamp + 1].record <= record)
		stamp++;
	return stamp;
}

/* In ms. */
static inline uint64_t clock_of_stamp(const struct massif *m, uint32_t stamp)
{
	return (m->chunk->stamps[stamp].time << m->time_shift) / NS_PER_MS;
}

/*
 * Stretches of the present chunk in which nothing can happen (massif_lulls.c). After the first call the others may be
 * used if `lulls` is set. Each returns the first record that it hasn't passed over, where a call begins; which may
 * be `end` + 1. A clock of milliseconds is left as it was, unless moments are yet to come.
 */
void massif_begin_lulls(struct massif *m);
/* Records [i, end) as far as none could be the moment for a snapshot. */
uint32_t massif_pass_lull(struct massif *m, uint32_t i, uint32_t end);
/* Records [i, end), at one time, that have snapshots of which nothing will be left. */
uint32_t massif_pass_snapshots(struct massif *m, uint32_t i, uint32_t end);

/* Makes the chunk the present one; the other finds out what its tokens do, too, if it hasn't. False: no memory. */
void massif_enter_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk);
bool massif_begin_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk);

/* Brings the live blocks to what they are after the first `n` records of the chunk. */
void massif_apply_records(struct massif *m, uint32_t n);

/* Of the observer, see observer.h. */
bool massif_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk);
int massif_foresee(const struct observer *observer, const struct mst_reader *reader,
		   const struct mst_chunk *chunk, const struct mst_sums *before);
int massif_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk);
bool massif_satisfied(const struct observer *observer);

#endif
