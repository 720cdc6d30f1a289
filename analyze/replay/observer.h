/* SPDX-License-Identifier: MIT */
/*
 * The interface of observers: several of them (Massif settings, memusage's counters, ...) see the same chunks in one
 * pass over the trace. An observer knows neither the others nor files nor the trace's bytes.
 */
#ifndef ANALYZE_OBSERVER_H
#define ANALYZE_OBSERVER_H

#include "mstrace.h"

struct observer;

/*
 * A chunk is delivered with all definitions that it needs. Ids are dense and only grow; the arrays behind
 * mst_reader_kinds() and its like may move between two calls, so an observer keeps ids, not pointers. Functions that
 * return int return 0 or a negative enum mst_error, which ends the replay.
 *
 * A chunk whose records no observer needs is not decoded: sums_suffice() sees it first, with only what
 * mst_reader_peek() gives.
 */
struct observer_impl {
	int (*chunk)(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk);
	/* Whether the observer can do without the chunk's records; changes no result. NULL: never. */
	bool (*sums_suffice)(struct observer *observer, const struct mst_reader *reader,
			     const struct mst_chunk *chunk);
	/*
	 * Called instead of chunk() after sums_suffice() was true. NULL: the observer serves others, and has nothing to do
	 * then; chunk() is still called if the records are decoded.
	 */
	int (*sums)(struct observer *observer, const struct mst_reader *reader,
		    const struct mst_chunk *chunk);
	/* Whether the observer needs no more chunks. NULL: never. The replay ends when none does. */
	bool (*satisfied)(const struct observer *observer);
	/* After the last chunk, of a complete trace or of its intact part; may be NULL. */
	int (*end)(struct observer *observer, const struct mst_reader *reader);
};

/* Embedded as the first member of each observer's own struct. */
struct observer {
	const struct observer_impl *impl;
	unsigned spared; /* enum mst_column: columns that the observer never reads ... */
	unsigned
		by_threads; /* ... but for these, from the first chunk on at which the trace has a second thread */
	bool by_sums;       /* sums suffice for the present chunk; set by replay.c */
};

#endif
