/* SPDX-License-Identifier: MIT */
/*
 * Massif's choice of snapshots: which moments are kept, which of them get a tree, which becomes
 * the peak, which give way when there are too many. Pure numbers; the caller keeps the counters
 * and says what the trees are made of. A hostile clock that wraps gives other snapshots and no harm.
 */
#ifndef ANALYZE_SNAPSHOT_H
#define ANALYZE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "massif.h"

struct event_log;

struct snapshots {
	/* Settings. */
	unsigned max, detailed_freq;
	double peak_inaccuracy; /* percent; below 0 counts as 0 */
	struct event_log *log;  /* is told of all that happens; NULL: nobody is */
	bool narrow_interval;   /* keep the low 32 bits of the least interval, as Massif does */

	struct snapshot *items; /* [max] */
	size_t n;               /* < max; after snapshots_set_peak() <= max */
	/* A normal snapshot may be taken at this time or later; a peak when the total is above this. */
	uint64_t earliest;
	uint64_t peak_limit;
	uint64_t min_interval;
	unsigned since_detailed;

	/* Private, for a cull: [max] each. */
	struct span *spans;
	uint64_t *widths;    /* the time between its neighbours */
	uint64_t last_width; /* of the one taken out last */
};

/* False: no memory; snapshots_finish() is still to be called. */
bool snapshots_init(struct snapshots *s, const struct settings *settings, struct event_log *log);
void snapshots_finish(struct snapshots *s);

/*
 * Keeps a snapshot: a copy with `detailed` decided and nothing `live` yet, which the caller adds
 * if it is still there (it is freed with the snapshot). The caller has asked: time >= earliest for
 * a normal one, total > peak_limit for a peak (its total is then the new mark, and the peak before
 * becomes a normal one that keeps its tree).
 */
void snapshots_store(struct snapshots *s, const struct snapshot *snapshot);

/*
 * Whether ordinary snapshots at `time`, one for each call, push each other out, so that only the latest of them
 * leave a trace: as long as the clock stands there and no peak comes.
 */
bool snapshots_are_fleeting(const struct snapshots *s, uint64_t time);

/*
 * If they are, and `n` more come: takes it that the first of them have been stored, as many as leave no trace; returns
 * how many that are, which is 0 if `n` is small.
 */
uint64_t snapshots_skip(struct snapshots *s, uint64_t n);

/*
 * After the last one: puts a peak in its place among the others, of which none is a peak then. If
 * one of them has a tree of the very same state, that one becomes the peak instead. Takes over
 * peak->live, and returns the one that is the peak.
 */
struct snapshot *snapshots_set_peak(struct snapshots *s, struct snapshot *peak);

#endif
