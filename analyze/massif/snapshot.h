/* SPDX-License-Identifier: MIT */
/*
 * Massif's choice of snapshots: which are kept, which get a tree, which is the peak, and which are culled when there
 * are too many. Pure numbers: the caller keeps the counters and says what the trees are made of. A hostile clock that
 * wraps gives other snapshots and does no harm.
 *
 * Why a snapshot was culled. snapshots_store() culls when --max-snapshots are stored: half of them are taken out, one
 * after the other, each time the one whose neighbours lie closest together in time, the oldest of equals. Spans
 * are measured between the neighbours that are still there, so they grow as snapshots go. Three never go: the first,
 * the last, and the peak. Whether a snapshot has a tree has no say. After the cull the least time between two
 * neighbours, of which one could have gone, becomes min_interval: the next snapshot is due that much later.
 * msreplay -v -v prints each step.
 */
#ifndef ANALYZE_SNAPSHOT_H
#define ANALYZE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "massif.h"

struct event_log;

/*
 * What a cull has left but for the last snapshot, as long as no peak comes and time does not go back: the least span of
 * those that may go, and the least interval of those that count. Spans to the last one are left out.
 */
struct settled {
	bool known;
	uint64_t least_span, least_interval;
};

struct snapshots {
	/* Settings. */
	unsigned max, detailed_freq;
	double peak_inaccuracy; /* percent; below 0 counts as 0 */
	struct event_log *log;  /* gets each step; NULL: no log */
	bool narrow_interval;   /* min_interval keeps its low 32 bits, as in Massif 3.19 */

	struct snapshot *items; /* [max] */
	size_t n;               /* < max; after snapshots_set_peak() <= max */
	/* A normal snapshot is due at this time or later; a peak when the total is above this. */
	uint64_t earliest;
	uint64_t peak_limit;
	uint64_t min_interval;
	unsigned since_detailed;

	/* Private, for a cull: [max] each. */
	struct span *spans;
	uint64_t *widths;    /* the time between its neighbours */
	uint64_t last_width; /* of the one taken out last */
	struct settled settled;
};

/* False: no memory; snapshots_finish() is still to be called. */
bool snapshots_init(struct snapshots *s, const struct settings *settings, struct event_log *log);
void snapshots_finish(struct snapshots *s);

/*
 * Room for the next snapshot, for the caller to fill in; `detailed` and `live` are ignored. In place, as a growing heap
 * stores a snapshot at nearly each call.
 */
static inline struct snapshot *snapshots_next(struct snapshots *s)
{
	return &s->items[s->n];
}

/*
 * Stores what snapshots_next() was filled with, with `detailed` decided and without `live`, which the caller adds if the
 * snapshot is still there later; it is freed with the snapshot. The snapshot must be due: time >= earliest for a normal
 * one, total > peak_limit for a peak. A peak's total is the new limit; the peak before becomes a normal snapshot and
 * keeps its tree.
 */
void snapshots_store(struct snapshots *s);

/*
 * Whether normal snapshots at `time`, one a call, are culled by those after them, so that only the last of them stay:
 * true as long as the clock shows `time` and no peak comes.
 */
bool snapshots_are_fleeting(const struct snapshots *s, uint64_t time);

/*
 * If they are, and `n` more come: counts the first of them as stored and culled, as many as would leave nothing.
 * Returns how many these are; 0 if `n` is small.
 */
uint64_t snapshots_skip(struct snapshots *s, uint64_t n);

/*
 * After the last snapshot: inserts the true peak in its place, and makes all others normal. If a stored snapshot has a
 * tree of the very same state, that snapshot becomes the peak instead. Takes over peak->live; returns the peak.
 */
struct snapshot *snapshots_set_peak(struct snapshots *s, struct snapshot *peak);

#endif
