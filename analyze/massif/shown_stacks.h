/* SPDX-License-Identifier: MIT */
/*
 * From a recorded stack to the part of it that Massif shows: allocation functions stripped from
 * the inside, what lies below main cut off, at most --depth frames left; or nothing at all for an
 * ignored function. Decided once a stack, in the order in which stacks are asked for, which has to
 * be that of their first use (Massif remembers how deep main was seen).
 *
 * Massif ignores a stack of nothing but allocation functions, too, and an empty one; with the
 * setting compat at its default the outermost of them is shown, and the empty one is no frames.
 * Functions that were inlined have names of their own here, except as 3.19 has it.
 */
#ifndef ANALYZE_SHOWN_STACKS_H
#define ANALYZE_SHOWN_STACKS_H

#include "mstrace.h"
#include "settings.h"
#include "symbolize.h"

/* The frames of a recorded stack that are shown: `n` of them, from `stack` outwards. */
struct context {
	uint32_t stack;
	uint32_t n;
};

enum shown_stacks_view {
	SHOWN_STACKS_SHOWN, /* what Massif's trees show, as above */
	SHOWN_STACKS_WHOLE, /* only what lies below main is cut off; equal captured stacks are one context */
};

struct shown_stacks {
	struct context *items; /* in the order of their numbers */
	uint32_t n;

	/* Private. */
	const struct settings *settings;
	struct symbolizer *symbolizer;
	enum shown_stacks_view view;
	uint32_t capacity;
	uint32_t *by_stack; /* number, CONTEXT_UNKNOWN or CONTEXT_IGNORED */
	uint32_t n_by_stack;
	uint32_t deepest;            /* frames outside of the outermost main, as seen so far */
	uint32_t *captured;          /* stack ids of the stack at hand, innermost first */
	struct cut_short *cut_short; /* contexts of stacks that are deeper than that; a hash table */
	uint32_t n_cut_short, cut_short_slots;
	uint8_t *answers; /* by frame: what is known of its names, see answers_about() */
	uint32_t n_answers;
};

#define CONTEXT_UNKNOWN UINT32_MAX
#define CONTEXT_IGNORED (UINT32_MAX - 1)

/* False: no memory; shown_stacks_finish() is still to be called. */
bool shown_stacks_init(struct shown_stacks *c, const struct settings *settings, struct symbolizer *symbolizer,
		       enum shown_stacks_view view);
void shown_stacks_finish(struct shown_stacks *c);

/* The number of the context of a kind's stack, or CONTEXT_IGNORED; CONTEXT_UNKNOWN: no memory. */
uint32_t shown_stacks_find(struct shown_stacks *c, const struct mst_reader *reader,
			   const struct mst_kind *kind);

#endif
