/* SPDX-License-Identifier: MIT */
/*
 * Valgrind's xtree memory report as an observer: bytes and blocks by stack, either of the blocks that
 * are live at the end (--xtree-memory=allocs), or of all that was allocated and freed (full). Stacks
 * are whole but for what lies below main: --alloc-fn, --ignore-fn and --depth have no say, except
 * that 49 frames more than --depth are kept.
 *
 * In a full report an allocation counts for the stack that made it; when the block is freed, it
 * leaves that stack's "currently allocated" and is added to the "freed" of the stack that freed it.
 * That stack is only known if the trace has it (msrec --free-stacks=yes); without it, the free is in
 * no stack's "freed", and xtree_unplaced() tells of it. A realloc always has its stack.
 *
 * A failed realloc changes nothing (3.19 forgets its block), and realloc(NULL, n) and realloc(p, 0)
 * have the stack of the call (3.19 adds a frame of its own); blocks never seen being allocated
 * aren't counted.
 */
#ifndef ANALYZE_XTREE_H
#define ANALYZE_XTREE_H

#include "observer.h"
#include "settings.h"

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
	const uint64_t *values; /* by enum xtree_event; all of them are there */
};

/*
 * Makes a full report if settings->xtree_memory says so, else one of live blocks. Copies nothing:
 * `settings` and `naming` must outlive the observer. NULL when out of memory.
 */
struct xtree *xtree_create(const struct settings *settings, struct symbolizer *symbolizer);
void xtree_destroy(struct xtree *xtree); /* NULL is allowed */
struct observer *xtree_observer(struct xtree *xtree);

/* How many of enum xtree_event the report has: 2 or 6. */
unsigned xtree_events(const struct xtree *xtree);

/*
 * After the replay: the stacks of the report, in the order in which they came up. With i from 0 to
 * xtree_places() - 1; false: that one isn't in the report. Valid until xtree_destroy().
 */
uint32_t xtree_places(const struct xtree *xtree);
bool xtree_place(const struct xtree *xtree, uint32_t i, struct xtree_place *place);

/* When the trace ended, in milliseconds since the start of the program. */
uint64_t xtree_time(const struct xtree *xtree);

/* Frees in a full report whose stack isn't recorded. */
uint64_t xtree_unplaced(const struct xtree *xtree);

#endif
