/* SPDX-License-Identifier: MIT */
/*
 * Moments that Massif would have passed over: the true peak, and those that were asked for. Pure
 * numbers, as in snapshot.h; the caller keeps the counters and says what the trees are made of.
 */
#ifndef ANALYZE_REQUESTED_SNAPSHOTS_H
#define ANALYZE_REQUESTED_SNAPSHOTS_H

#include "massif.h"

/* A moment that was asked for. */
struct moment {
	struct snapshot one;  /* how things were */
	struct snapshot *all; /* AT_ALL: those stored by then; with `live` of its own */
	size_t n_all;
};

struct requested {
	bool peak_wanted;
	uint64_t highest;     /* total of the peak so far; 0: there is none */
	struct snapshot peak; /* the first moment with that total */
	bool peak_pending;    /* it has been raised, its `live` is that of a lower one */

	const struct settings *settings;
	struct moment *moments; /* for each of the settings' `ats` */
	size_t n_times;         /* the first of them are moments by time, in order */
	size_t taken, filled;   /* how many of these have numbers, and `live` */
	uint64_t next_time;     /* of the first one not taken; UINT64_MAX: there is none */
};

/* False: no memory; requested_finish() is still to be called. */
bool requested_init(struct requested *requested, const struct settings *settings);
void requested_finish(struct requested *requested);

/* A higher total than any before it. */
static inline void requested_raise(struct requested *requested, const struct snapshot *peak, uint64_t total)
{
	struct live *live = requested->peak.live;

	requested->highest = total;
	requested->peak = *peak;
	requested->peak.live = live;
	requested->peak_pending = true;
}

/*
 * The clock goes on to `clock`, above next_time; `before` is how things have been up to now. True:
 * requested_copy_all() is to be called next, with all `live` that there is in place.
 */
bool requested_pass(struct requested *requested, const struct snapshot *before, uint64_t clock);

/* Keeps a copy of the stored snapshots for those of the first `count` that lack it. False: no memory. */
bool requested_copy_all(struct requested *requested, size_t count, const struct snapshot *stored, size_t n);

/* The earliest mark of the present chunk that waits for its `live`, until it is filled; or NULL. */
struct snapshot *requested_pending(struct requested *requested);

/* Gives a pending mark its `live`. */
void requested_fill(struct requested *requested, struct snapshot *mark, struct live *live);

#endif
