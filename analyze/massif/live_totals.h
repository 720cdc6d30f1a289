/* SPDX-License-Identifier: MIT */
/*
 * Live blocks by kind, and the contexts that they count for: what Massif's trees are made of.
 */
#ifndef ANALYZE_LIVE_TOTALS_H
#define ANALYZE_LIVE_TOTALS_H

#include "massif.h"
#include "shown_stacks.h"
#include "tree.h"

struct live_totals {
	struct shown_stacks contexts;
	struct live_total {
		int64_t blocks;   /* below 0 in a hostile trace */
		uint64_t bytes;   /* of a block, or of those that it stands for in a sample */
		uint32_t context; /* of its blocks; CONTEXT_UNKNOWN before the first came */
	} * items;
	uint32_t n;           /* at least as many as are known of the trace */
	uint64_t *by_context; /* live bytes */
	uint32_t n_by_context;
	uint32_t n_contexts;   /* allocated from, like the kinds */
	struct forest *forest; /* of all contexts; NULL: no tree has been built */
	struct forest_input planted;
};

/* False: no memory; live_totals_finish() is still to be called. */
bool live_totals_init(struct live_totals *live, const struct settings *settings,
		      struct symbolizer *symbolizer);
void live_totals_finish(struct live_totals *live);

/* Makes room for so many kinds. False: no memory. */
bool live_totals_reserve(struct live_totals *live, uint32_t n);

/*
 * Finds out for which context blocks of a kind count when the first of them comes or goes, in the order of first use,
 * as shown_stacks_find() asks for. False: no memory.
 */
bool live_totals_place(struct live_totals *live, const struct mst_reader *reader, uint32_t id,
		       const struct mst_kind *kind);

static inline bool live_totals_counted(const struct live_totals *live, uint32_t id)
{
	return live->items[id].context < CONTEXT_IGNORED;
}

/* No fewer than none. */
static inline int64_t live_totals_real(int64_t blocks)
{
	return blocks > 0 ? blocks : 0;
}

/* `change` blocks more of the kind, which has been placed if it isn't 0; `came` if there were any before, too. */
static inline void live_totals_add(struct live_totals *live, uint32_t id, bool came, int64_t change)
{
	struct live_total *kind = &live->items[id];
	const int64_t before = kind->blocks;

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

/*
 * Builds a tree of what was copied; the reader may be NULL if that is nothing. `merged`: frames of one
 * address are one. What is found out for the first tree serves others until there are more contexts. NULL: no
 * memory.
 */
struct tree *live_totals_tree(struct live_totals *live, const struct mst_reader *reader, bool merged,
			      const struct tree_input *in);

#endif
