/* SPDX-License-Identifier: MIT */
#include "livekinds.h"

#include <stdlib.h>

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
		items[live->n] = (struct livekind){ 0, CONTEXT_UNKNOWN };
	return true;
}

bool livekinds_place(struct livekinds *live, const struct mst_reader *reader, uint32_t id,
		     const struct mst_kind *kind)
{
	uint32_t *context = &live->items[id].context;

	if (*context != CONTEXT_UNKNOWN)
		return true;
	if (kind->op == MST_OP_UNKNOWN)
		*context = CONTEXT_IGNORED;
	else
		*context = contexts_find(&live->contexts, reader, kind);
	return *context != CONTEXT_UNKNOWN;
}

struct live *livekinds_copy(const struct livekinds *l, const struct mst_reader *reader, uint64_t mean)
{
	struct live *live = calloc(1, sizeof(*live) + l->n_contexts * sizeof(*live->bytes));
	const struct mst_kind *kinds;
	uint32_t n;

	if (!live || !reader)
		return live;
	live->n = l->n_contexts;
	kinds = mst_reader_kinds(reader, &n);
	if (n > l->n)
		n = l->n; /* the others were defined for a chunk that could not be read */
	for (uint32_t i = 0; i < n; i++) {
		const struct livekind *kind = &l->items[i];

		if (kind->blocks > 0 && kind->context < live->n)
			live->bytes[kind->context] +=
				estimate_bytes(mean, kinds[i].size, kinds[i].size) * (uint64_t)kind->blocks;
	}
	return live;
}
