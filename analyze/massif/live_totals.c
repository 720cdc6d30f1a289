/* SPDX-License-Identifier: MIT */
#include "live_totals.h"

#include <stdlib.h>
#include <string.h>

#include "sample_weight.h"

bool livekinds_init(struct livekinds *live, const struct settings *settings, struct naming *naming)
{
	*live = (struct livekinds){ 0 };
	return contexts_init(&live->contexts, settings, naming, CONTEXTS_SHOWN);
}

void livekinds_finish(struct livekinds *live)
{
	contexts_finish(&live->contexts);
	free(live->items);
	free(live->by_context);
	forest_destroy(live->forest);
	free(live->planted.leaves);
}

bool livekinds_reserve(struct livekinds *live, uint32_t n)
{
	struct livekind *items;

	if (n <= live->n)
		return true;
	n += n / 2;
	items = realloc(live->items, n * sizeof(*items));
	if (!items)
		return false;
	live->items = items;
	for (; live->n < n; live->n++)
		items[live->n] = (struct livekind){ .context = CONTEXT_UNKNOWN };
	return true;
}

/* Makes room for the bytes of all contexts there are. False: no memory. */
static bool reserve_contexts(struct livekinds *live)
{
	const uint32_t n = live->contexts.capacity;
	uint64_t *grown;

	if (n <= live->n_by_context)
		return true;
	grown = realloc(live->by_context, n * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + live->n_by_context, 0, (n - live->n_by_context) * sizeof(*grown));
	live->by_context = grown;
	live->n_by_context = n;
	return true;
}

bool livekinds_place(struct livekinds *live, const struct mst_reader *reader, uint32_t id,
		     const struct mst_kind *kind)
{
	struct livekind *item = &live->items[id];
	uint32_t context = CONTEXT_IGNORED;

	if (item->context != CONTEXT_UNKNOWN)
		return true;
	if (kind->op != MST_OP_UNKNOWN)
		context = contexts_find(&live->contexts, reader, kind);
	if (context == CONTEXT_UNKNOWN || !reserve_contexts(live))
		return false;
	item->context = context;
	item->bytes = estimate_bytes(mst_reader_info(reader)->sample_bytes, kind->size, kind->size);
	return true;
}

struct live *livekinds_copy(const struct livekinds *l)
{
	struct live *live = malloc(sizeof(*live) + l->n_contexts * sizeof(*live->bytes));

	if (!live)
		return NULL;
	live->n = l->n_contexts;
	if (live->n)
		memcpy(live->bytes, l->by_context, live->n * sizeof(*live->bytes));
	return live;
}

/* All contexts as leaves. False: no memory. */
static bool plant(struct livekinds *live, const struct forest_input *wanted)
{
	const struct contexts *contexts = &live->contexts;
	struct forest_input in = *wanted;

	forest_destroy(live->forest);
	free(live->planted.leaves);
	live->forest = NULL;
	live->planted = in;
	in.leaves = malloc((in.n_leaves + (size_t)1) * sizeof(*in.leaves));
	if (!in.leaves)
		return false;
	for (uint32_t i = 0; i < in.n_leaves; i++)
		in.leaves[i] = (struct tree_leaf){ contexts->items[i].stack, contexts->items[i].n };
	live->planted.leaves = in.leaves;
	live->forest = forest_create(&in);
	return live->forest;
}

struct tree *livekinds_tree(struct livekinds *live, const struct mst_reader *reader, bool merged,
			    const struct tree_input *in)
{
	struct forest_input wanted = {
		.n_leaves = live->contexts.n,
		.naming = live->contexts.naming,
		.same = merged ? naming_same_addresses(live->contexts.naming) : NULL,
	};
	const struct forest_input *planted = &live->planted;
	uint32_t n_stacks;

	if (reader) {
		wanted.stacks = mst_reader_stacks(reader, &n_stacks);
		mst_reader_frames(reader, &wanted.n_frames);
	}
	if ((!live->forest || planted->n_leaves != wanted.n_leaves || planted->stacks != wanted.stacks ||
	     planted->n_frames != wanted.n_frames || planted->same != wanted.same) &&
	    !plant(live, &wanted))
		return NULL;
	return tree_build(live->forest, in);
}
