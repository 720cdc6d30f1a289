/* SPDX-License-Identifier: MIT */
/*
 * From a recorded stack to the part of it that Massif shows: allocation functions stripped from
 * the inside, what lies below main cut off, at most --depth frames left; or nothing at all for an
 * ignored function. Decided once a stack, in the order in which stacks are first allocated from
 * (Massif remembers how deep main was seen). Names are those of physical functions, as in 3.19.
 */
#ifndef ANALYZE_CONTEXTS_H
#define ANALYZE_CONTEXTS_H

#include "mstrace.h"
#include "naming.h"
#include "settings.h"
#include "tree.h"

struct contexts {
	const struct settings *settings;
	struct naming *naming;
	struct places places;
	uint32_t *place;        /* by stack; CONTEXT_UNKNOWN, CONTEXT_IGNORED, else its outermost place */
	uint32_t n;
	uint32_t deepest;       /* frames outside of the outermost main, as seen so far */
	uint32_t *frames;       /* of the stack at hand, innermost first */
	uint8_t *stripped;      /* by frame: whether it is an allocation function; see is_alloc_fn() */
	uint32_t n_stripped;
};

#define CONTEXT_UNKNOWN UINT32_MAX
#define CONTEXT_IGNORED (UINT32_MAX - 1)

bool contexts_init(struct contexts *c, const struct settings *settings, struct naming *naming);
void contexts_finish(struct contexts *c);

/* The place of a stack, or CONTEXT_IGNORED; CONTEXT_UNKNOWN when out of memory. */
uint32_t contexts_place(struct contexts *c, const struct mst_reader *reader, uint32_t stack);

#endif
