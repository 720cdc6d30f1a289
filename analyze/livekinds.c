/* SPDX-License-Identifier: MIT */
#include "livekinds.h"

#include <stdlib.h>
#include <string.h>

#include "estimate.h"

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
