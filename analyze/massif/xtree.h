/* SPDX-License-Identifier: MIT */
/*
 * Valgrind's xtree memory report as an observer: bytes and blocks by stack, either of the blocks that are live at the
 * end (--xtree-memory=allocs) or of all that was allocated and freed (full). Stacks are cut below main only:
 * --alloc-fn, --ignore-fn and --depth don't matter, except that with the setting compat 49 frames more than --depth are
 * kept.
 *
 * In a full report an allocation counts for the stack that made it. When the block is freed, it leaves that stack's
 * "currently allocated" and is added to the "freed" of the stack that freed it. The trace has that stack only with
 * msrec --free-stacks=yes; without it no stack's "freed" has the free, and xtree_unplaced() counts it. A realloc always
 * has its stack.
 *
 * A failed realloc changes nothing (3.19 forgets its block); realloc(NULL, n) and realloc(p, 0) have the stack of the
 * call (3.19 adds a frame); blocks never seen being allocated don't count.
 */
#ifndef ANALYZE_XTREE_H
#define ANALYZE_XTREE_H

#include "observer.h"
#include "settings.h"

struct massif;
struct symbolizer;
struct xtree;

/* The columns of a report, in its order; a report of live blocks has the first two. */
enum xtree_event {
	XTREE_LIVE_BYTES,
	XTREE_LIVE_BLOCKS,
	XTREE_TOTAL_BYTES,
	XTREE_TOTAL_BLOCKS,
	XTREE_FREED_BYTES,
	XTREE_FREED_BLOCKS,
	XTREE_EVENTS
};

/* One stack: `n` frames, at least 1, from `stack` outwards, and its values. */
struct xtree_place {
	uint32_t stack;
	uint32_t n;
	const uint64_t *values; /* [XTREE_EVENTS] */
};

/*
 * A full report if settings->xtree_memory says so, else one of live blocks. Copies nothing: both arguments must outlive
 * the observer. NULL: no memory.
 */
struct xtree *xtree_create(const struct settings *settings, struct symbolizer *symbolizer);
void xtree_destroy(struct xtree *xtree); /* NULL is allowed */
struct observer *xtree_observer(struct xtree *xtree);

/*
 * Before the replay: the report is of the point in time that settings->ats[0] asks for, which Massif, an observer before
 * this one with the same settings, finds.
 */
void xtree_follow(struct xtree *xtree, const struct massif *massif);

/* How many of enum xtree_event the report has: 2 or 6. */
unsigned xtree_events(const struct xtree *xtree);

/*
 * After the replay: the stacks of the report in order of first use, i from 0 to xtree_places() - 1. False: the stack has
 * nothing to report. Valid until xtree_destroy().
 */
uint32_t xtree_places(const struct xtree *xtree);
bool xtree_place(const struct xtree *xtree, uint32_t i, struct xtree_place *place);

/* The report's point in time, else the trace's end, in milliseconds since the start of the program. */
uint64_t xtree_time(const struct xtree *xtree);

/* Frees in a full report, up to its point in time, whose stack isn't recorded. */
uint64_t xtree_unplaced(const struct xtree *xtree);

#endif
