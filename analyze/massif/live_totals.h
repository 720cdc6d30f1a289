/* SPDX-License-Identifier: MIT */
/*
 * Live blocks by kind, and live bytes by context, which Massif's trees are made of.
 *
 * Invariant: the bytes of a context are those of its kinds' live blocks, kinds with fewer than 0 blocks left out.
 */
#ifndef ANALYZE_LIVE_TOTALS_H
#define ANALYZE_LIVE_TOTALS_H

#include <assert.h>

#include "massif.h"
#include "shown_stacks.h"
#include "tree.h"

struct live_totals {
	struct shown_stacks contexts;
	struct live_total {
		int64_t blocks;   /* below 0 in a hostile trace */
		uint64_t bytes;   /* of one block; in a sample, of the blocks that it stands for */
		uint32_t context; /* CONTEXT_UNKNOWN before the first block */
	} * items;
	uint32_t n;           /* at least as many as the trace has kinds so far */
	uint64_t *by_context; /* live bytes */
	uint32_t n_by_context;
	uint32_t n_contexts;   /* those before it have been allocated from */
	struct forest *forest; /* of all contexts; NULL: no tree has been built yet */
	struct forest_input planted;
};

/* False: no memory; live_totals_finish() is still to be called. */
bool live_totals_init(struct live_totals *live, const struct settings *settings,
		      struct symbolizer *symbolizer);
void live_totals_finish(struct live_totals *live);

/* Makes room for `n` kinds. False: no memory. */
bool live_totals_reserve(struct live_totals *live, uint32_t n);

/*
 * Finds the context of a kind. Has to be called for kinds in order of their first use, as shown_stacks_find() requires.
 * False: no memory.
 */
bool live_totals_place(struct live_totals *live, const struct mst_reader *reader, uint32_t id,
		       const struct mst_kind *kind);

static inline bool live_totals_counted(const struct live_totals *live, uint32_t id)
{
	return live->items[id].context < CONTEXT_IGNORED;
}

/* A hostile trace may free more than it allocates. */
static inline int64_t live_totals_real(int64_t blocks)
{
	return blocks > 0 ? blocks : 0;
}

/* `change` more blocks of the kind, whose context is known if `change` isn't 0; `came`: the kind has been allocated. */
static inline void live_totals_add(struct live_totals *live, uint32_t id, bool came, int64_t change)
{
	struct live_total *kind = &live->items[id];
	const int64_t before = kind->blocks;

	assert(change == 0 || kind->context != CONTEXT_UNKNOWN);
	kind->blocks += change;
	if (kind->context >= CONTEXT_IGNORED)
		return;
	live->by_context[kind->context] +=
		kind->bytes * (uint64_t)(live_totals_real(kind->blocks) - live_totals_real(before));
	if ((change > 0 || came) && kind->context >= live->n_contexts)
		live->n_contexts = kind->context + 1;
}

/* Live bytes by context. NULL: no memory. */
struct live *live_totals_copy(const struct live_totals *live);

/* Bytes of all counted blocks, modulo 2^64; takes O(kinds). */
uint64_t live_totals_bytes(const struct live_totals *live);

/* Whether the invariant above holds, in sum; takes O(kinds). */
bool live_totals_are_sound(const struct live_totals *live);

/*
 * Builds a tree from a copy; the reader may be NULL if the copy is empty. `merged`: frames of one address are one. The
 * forest of the first tree serves others until there are more contexts. NULL: no memory.
 */
struct tree *live_totals_tree(struct live_totals *live, const struct mst_reader *reader, bool merged,
			      const struct tree_input *in);

#endif
