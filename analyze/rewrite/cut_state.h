/* SPDX-License-Identifier: MIT */
/*
 * The state of the heap where a cut begins, and the initial state (FORMAT.md) that records it in the new trace: live
 * blocks, stacks that have allocated, depths of stacks, mapped bytes, pages, phases, and whether the exit handlers are done.
 *
 * Kinds and records are those of the old trace. False: no memory.
 */
#ifndef ANALYZE_CUT_STATE_H
#define ANALYZE_CUT_STATE_H

#include "block_filter.h"
#include "live_set.h"
#include "page_state.h"
#include "remapper.h"

struct cut_state {
	const struct remapper *remapper;   /* for what it knows of the old trace */
	const struct block_filter *filter; /* of the blocks that are written; NULL: all */
	struct live_set live;
	uint64_t *depths;       /* of stacks, by thread */
	uint64_t unknown_depth; /* of a thread that is not recorded, from SP changes */
	uint32_t n_depths;
	uint8_t *used; /* by stack: which blocks have come from it */
	uint32_t n_used;
	uint32_t *first; /* the first kinds of such stacks */
	uint32_t n_first, cap_first;
	uint64_t mapped, remapped; /* bytes; what the mremap to come is to change */
	struct page_state *pages;  /* NULL: pages are not wanted */
	uint64_t null_frees, instructions, lost;
	bool exited;       /* the exit handlers are done */
	bool off, was_off; /* blocks that come are not recorded now; or were not at some time */
	bool switched_off; /* the latter not only because recording began late */
};

/* An empty state. The caller sets `pages` if pages are wanted, and `filter`. */
void cut_state_begin(struct cut_state *cut_state, const struct remapper *remapper);
void cut_state_finish(struct cut_state *cut_state);

/* Applies an event, or an entry of the old trace's initial state. */
bool cut_state_note(struct cut_state *cut_state, const struct mst_event *event, bool initial);

/* Applies all records of a chunk, which isn't an initial state and has no SP changes. */
bool cut_state_note_chunk(struct cut_state *cut_state, const struct mst_chunk *chunk);

/* Takes the stacks that the old trace's initial state names as used. Other chunks change nothing. */
bool cut_state_note_initial(struct cut_state *cut_state, const struct mst_chunk *chunk);

/* Writes the initial state of a range that begins then, and drops the live blocks. 0 or a negative enum mst_error. */
int cut_state_write(struct cut_state *cut_state, struct remapper *remapper, uint64_t begin_ns);

#endif
