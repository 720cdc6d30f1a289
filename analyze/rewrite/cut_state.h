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
#include "mst_page_state.h"
#include "remapper.h"

struct prelude {
	const struct scribe *scribe; /* for what it knows of the old trace */
	struct liveset live;
	uint64_t *depths;       /* of stacks, by thread */
	uint64_t nobodys_depth; /* of those whose thread isn't known: all whose changes are steps */
	uint32_t n_depths;
	uint8_t *used; /* by stack: blocks have come from it */
	uint32_t n_used;
	uint32_t *first; /* the first kinds of such stacks */
	uint32_t n_first, cap_first;
	uint64_t mapped, remapped; /* bytes; what the mremap to come is to change */
	struct pagebase *pages;    /* NULL: nobody wants to know */
	uint64_t null_frees, instructions, lost;
	bool exited; /* the exit handlers are done */
};

/* Nothing was before yet. Who wants to know of pages sets `pages`. */
void prelude_begin(struct prelude *prelude, const struct scribe *scribe);
void prelude_finish(struct prelude *prelude);

/* A call, or what stands for it in the base of the old trace. */
bool prelude_note(struct prelude *prelude, const struct mst_event *event, bool in_base);

/* The same for all records of a chunk that isn't a base and has no steps. */
bool prelude_note_chunk(struct prelude *prelude, const struct mst_chunk *chunk);

/* What the base of the old trace says was used before that. Each chunk may be given. */
bool prelude_note_base(struct prelude *prelude, const struct mst_chunk *chunk);

/* Writes the base, of a range that begins then. The live blocks are gone after that. 0 or a negative enum mst_error. */
int prelude_write(struct prelude *prelude, struct scribe *scribe, uint64_t begin_ns);

#endif
