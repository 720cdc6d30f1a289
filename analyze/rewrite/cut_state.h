/* SPDX-License-Identifier: MIT */
/*
 * What was before the range that a trace is cut to, and the base (FORMAT.md) that says so in the new trace:
 * live blocks, which stacks blocks had come from, how deep stacks are, what is mapped, which pages, and whether the
 * exit handlers are done.
 *
 * Kinds and records are those of the old trace. False: no memory.
 */
#ifndef ANALYZE_CUT_STATE_H
#define ANALYZE_CUT_STATE_H

#include "live_set.h"
#include "page_state.h"
#include "remapper.h"

struct cut_state {
	const struct remapper *remapper; /* for what it knows of the old trace */
	struct live_set live;
	uint64_t *depths;       /* of stacks, by thread */
	uint64_t nobodys_depth; /* of those whose thread isn't known: all whose changes are steps */
	uint32_t n_depths;
	uint8_t *used; /* by stack: blocks have come from it */
	uint32_t n_used;
	uint32_t *first; /* the first kinds of such stacks */
	uint32_t n_first, cap_first;
	uint64_t mapped, remapped; /* bytes; what the mremap to come is to change */
	struct page_state *pages;  /* NULL: nobody wants to know */
	uint64_t null_frees, instructions, lost;
	bool exited; /* the exit handlers are done */
};

/* Nothing was before yet. Who wants to know of pages sets `pages`. */
void cut_state_begin(struct cut_state *cut_state, const struct remapper *remapper);
void cut_state_finish(struct cut_state *cut_state);

/* A call, or what stands for it in the base of the old trace. */
bool cut_state_note(struct cut_state *cut_state, const struct mst_event *event, bool in_base);

/* The same for all records of a chunk that isn't a base and has no steps. */
bool cut_state_note_chunk(struct cut_state *cut_state, const struct mst_chunk *chunk);

/* What the base of the old trace says was used before that. Each chunk may be given. */
bool cut_state_note_base(struct cut_state *cut_state, const struct mst_chunk *chunk);

/* Writes the base, of a range that begins then. The live blocks are gone after that. 0 or a negative enum mst_error. */
int cut_state_write(struct cut_state *cut_state, struct remapper *remapper, uint64_t begin_ns);

#endif
