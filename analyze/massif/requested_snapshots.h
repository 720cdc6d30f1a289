/* SPDX-License-Identifier: MIT */
/*
 * Requested snapshots, which Massif would not have taken: the true peak (--exact-peak) and points in time (--at and
 * its like). Pure numbers, as in snapshot.h; the caller keeps the counters and says what the trees are made of.
 *
 * Invariants: in each queue filled <= taken <= n. Requests by time come first, in order of time, then those at marks.
 */
#ifndef ANALYZE_REQUESTED_SNAPSHOTS_H
#define ANALYZE_REQUESTED_SNAPSHOTS_H

#include <assert.h>

#include "massif.h"

/* One of settings->ats, answered. */
struct request {
	struct snapshot one;  /* the state at that point in time */
	struct snapshot *all; /* AT_ALL: the snapshots stored by then; with `live` of its own */
	size_t n_all;
};

/* Neighbours among settings->ats that come due one by one, in their order. */
struct request_queue {
	size_t first, n;
	size_t taken, filled; /* how many of these have numbers, and `live` */
};

struct requested {
	bool peak_wanted;
	uint64_t highest;     /* total of the peak so far; 0: there is none */
	struct snapshot peak; /* the first state with that total */
	bool peak_pending;    /* the peak has been raised; its `live` is still that of a lower one */

	const struct settings *settings;
	struct request *requests; /* for each of the settings' `ats` */
	struct request_queue times, marks;
	uint64_t next_time; /* of the first one by time that is not taken; UINT64_MAX: there is none */
	uint64_t next_mark; /* the same of those at marks: the record */
};

/* Whether a request has its numbers. */
static inline bool requested_is_taken(const struct requested *requested, size_t i)
{
	const struct request_queue *marks = &requested->marks;

	return i < requested->times.taken || (i >= marks->first && i - marks->first < marks->taken);
}

/* Whether all requests by time and at marks have their numbers, and there are no others. */
static inline bool requested_satisfied(const struct requested *requested)
{
	return requested->times.taken + requested->marks.taken == requested->settings->n_ats;
}

/* False: no memory; requested_finish() is still to be called. */
bool requested_init(struct requested *requested, const struct settings *settings);
void requested_finish(struct requested *requested);

/* A higher total than any before it. */
static inline void requested_raise(struct requested *requested, const struct snapshot *peak, uint64_t total)
{
	struct live *live = requested->peak.live;

	assert(requested->peak_wanted && total > requested->highest);
	requested->highest = total;
	requested->peak = *peak;
	requested->peak.live = live;
	requested->peak_pending = true;
}

/*
 * The clock goes on to `clock`, above next_time; `before` is the state until then. True: requested_copy_all() has to be
 * called next, when all stored snapshots have their `live`.
 */
bool requested_pass(struct requested *requested, const struct snapshot *before, uint64_t clock);

/* The same of the marks before the record `record`, or at it. */
bool requested_pass_marks(struct requested *requested, const struct snapshot *before, uint64_t record);

/* Copies the stored snapshots for those requests that have come due and lack them. False: no memory. */
bool requested_copy_due(struct requested *requested, const struct snapshot *stored, size_t n);

/* The same at the end: for those by time and at marks; for all. */
bool requested_copy_points(struct requested *requested, const struct snapshot *stored, size_t n);
bool requested_copy_all(struct requested *requested, const struct snapshot *stored, size_t n);

/* The earliest request of the present chunk that waits for its `live`, until it is filled; or NULL. */
struct snapshot *requested_pending(struct requested *requested);

/* Gives a pending request its `live`. */
void requested_fill(struct requested *requested, struct snapshot *pending, struct live *live);

#endif
