/* SPDX-License-Identifier: MIT */
/*
 * What watches a replay. Several observers (several Massif settings, memusage's counters, ...)
 * see the same chunks in one pass over the trace; none of them knows of the others, of files or
 * of the trace's bytes.
 */
#ifndef ANALYZE_OBSERVER_H
#define ANALYZE_OBSERVER_H

#include "mstrace.h"

struct observer;

/*
 * A chunk is delivered with all definitions that it needs; ids are dense and only grow, and the
 * arrays behind mst_reader_kinds() and its like may move between two calls, so an observer keeps
 * ids, not pointers. Both functions return 0 or a negative enum mst_error, which ends the replay.
 */
struct observer_impl {
	int (*chunk)(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk);
	/* After the last chunk, of a complete trace or of what is intact; may be NULL. */
	int (*end)(struct observer *observer, const struct mst_reader *reader);
};

/* Embedded as the first member of each observer's own struct. */
struct observer {
	const struct observer_impl *impl;
};

#endif
