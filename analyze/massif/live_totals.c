/* SPDX-License-Identifier: MIT */
#include "live_totals.h"

#include <stdlib.h>
#include <string.h>

#include "sample_weight.h"

bool live_totals_init(struct live_totals *live, const struct settings *settings,
		      struct symbolizer *symbolizer)
{
	*live = (struct live_totals){ 0 };
	return shown_stacks_init(&live->contexts, settings, symbolizer, SHOWN_STACKS_SHOWN);
}

void live_totals_finish(struct live_totals *live)
{
	shown_stacks_finish(&live->contexts);
	free(live->items);
	free(live->by_context);
	forest_destroy(live->forest);
	free(live->planted.leaves);
}

bool live_totals_reserve(struct live_totals *live, uint32_t n)
{
	struct live_total *items;

	if (n <= live->n)
		return true;
	n += n / 2;
	items = realloc(live->items, n * sizeof(*items));
	if (!items)
		return false;
	live->items = items;
	for (; live->n < n; live->n++)
		items[live->n] = (struct live_total){ .context = CONTEXT_UNKNOWN };
	return true;
}

/* Makes room for the bytes of all contexts there are. False: no memory. */
static bool reserve_contexts(struct live_totals *live)
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

bool live_totals_place(struct live_totals *live, const struct mst_reader *reader, uint32_t id,
		       const struct mst_kind *kind)
{
	struct live_total *item = &live->items[id];
	uint32_t context = CONTEXT_IGNORED;

	if (item->context != CONTEXT_UNKNOWN)
		return true;
	if (kind->op != MST_OP_UNKNOWN)
		context = shown_stacks_find(&live->contexts, reader, kind);
	if (context == CONTEXT_UNKNOWN || !reserve_contexts(live))
		return false;
	item->context = context;
	item->bytes = weight_bytes(mst_reader_info(reader)->sample_bytes, kind->size, kind->size);
	return true;
}

struct live *live_totals_copy(const struct live_totals *l)
{
	struct live *live = malloc(sizeof(*live) + l->n_contexts * sizeof(*live->bytes));

	if (!live)
		return NULL;
	assert(l->n_contexts <= l->n_by_context && l->n_contexts <= l->contexts.n);
	live->n = l->n_contexts;
	if (live->n)
		memcpy(live->bytes, l->by_context, live->n * sizeof(*live->bytes));
	return live;
}

uint64_t live_totals_bytes(const struct live_totals *live)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < live->n; i++) {
		if (live->items[i].context < CONTEXT_IGNORED)
			bytes += live->items[i].bytes * (uint64_t)live->items[i].blocks;
	}
	return bytes;
}

bool live_totals_are_sound(const struct live_totals *live)
{
	uint64_t by_kind = 0, by_context = 0;

	for (uint32_t i = 0; i < live->n; i++) {
		if (live->items[i].context < CONTEXT_IGNORED)
			by_kind += live->items[i].bytes * (uint64_t)live_totals_real(live->items[i].blocks);
	}
	for (uint32_t i = 0; i < live->n_by_context; i++)
		by_context += live->by_context[i];
	return by_kind == by_context;
}

/* All contexts as leaves. False: no memory. */
static bool plant(struct live_totals *live, const struct forest_input *wanted)
{
	const struct shown_stacks *contexts = &live->contexts;
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

struct tree *live_totals_tree(struct live_totals *live, const struct mst_reader *reader, bool merged,
			      const struct tree_input *in)
{
	struct forest_input wanted = {
		.n_leaves = live->contexts.n,
		.symbolizer = live->contexts.symbolizer,
		.same = merged ? symbolize_same_addresses(live->contexts.symbolizer) : NULL,
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
