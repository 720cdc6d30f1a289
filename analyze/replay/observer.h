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
 * ids, not pointers. All but one function return 0 or a negative enum mst_error, which ends the replay.
 *
 * Where nobody needs the records of a chunk, they are not decoded: each observer is asked beforehand
 * with a chunk that has only what mst_reader_peek() gives.
 */
struct observer_impl {
	int (*chunk)(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk);
	/* Whether the chunk can do without its records; changes nothing that shows. NULL: no chunk can. */
	bool (*sums_suffice)(struct observer *observer, const struct mst_reader *reader,
			     const struct mst_chunk *chunk);
	/*
	 * Comes instead of chunk() where it can. NULL: there is nothing to be done then, for all is in aid of
	 * other observers; where records are there, chunk() comes.
	 */
	int (*sums)(struct observer *observer, const struct mst_reader *reader,
		    const struct mst_chunk *chunk);
	/* Whether it needs no more chunks. NULL: never. When nobody does, the replay ends. */
	bool (*satisfied)(const struct observer *observer);
	/* After the last chunk, of a complete trace or of what is intact; may be NULL. */
	int (*end)(struct observer *observer, const struct mst_reader *reader);
};

/* Embedded as the first member of each observer's own struct. */
struct observer {
	const struct observer_impl *impl;
	unsigned spared; /* enum mst_column: what it never looks at */
	bool by_sums;    /* of the present chunk; the replay's own */
};

#endif
