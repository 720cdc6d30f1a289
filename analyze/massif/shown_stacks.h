/* SPDX-License-Identifier: MIT */
/*
 * From a recorded stack to the part of it that Massif shows, its context: allocation functions stripped from the
 * inside, what lies below main cut off, at most --depth frames left; or nothing for an ignored function. Decided once a
 * stack. Stacks have to be looked up in order of first use, because Massif remembers how deep main was seen.
 *
 * Massif also ignores an empty stack and one of nothing but allocation functions. With the setting compat at its
 * default the latter shows its outermost frame, and the empty stack is a context without frames. Inlined functions have
 * names of their own, which the lists may have; not so with compat 3.19.
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
	SHOWN_STACKS_WHOLE, /* cut below main only, and as Massif captures them with a compat; equal ones are one context */
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
	uint32_t deepest;   /* frames outside of the outermost main, as seen so far */
	uint32_t *captured; /* stack ids of the present stack, innermost first */
	uint32_t room_captured;
	struct cut_short *cut_short; /* contexts of stacks deeper than what is captured; a hash table */
	uint32_t n_cut_short, n_buckets;
	uint8_t *answers; /* by frame: enum answer */
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
