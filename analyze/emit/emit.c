/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <string.h>

const struct emitter *const emitters[] = {
	&emit_massif,
	&emit_callgrind,
	&emit_xtree,
	&emit_folded,
	&emit_speedscope,
	&emit_pprof,
	&emit_heapprofile,
	&emit_heaptrack,
	&emit_dhat,
	&emit_memusage,
	&emit_csv_stacks,
	&emit_csv_frames,
	&emit_csv_snapshots,
	&emit_csv,
	&emit_ndjson_stacks,
	&emit_ndjson_frames,
	&emit_ndjson_snapshots,
	&emit_ndjson,
	&emit_parquet_stacks,
	&emit_parquet_frames,
	&emit_parquet_snapshots,
	&emit_parquet,
	NULL,
};

const struct emitter *emitter_find(const char *name)
{
	const struct emitter *const *e = emitters;

	while (*e && strcmp((*e)->name, name) != 0)
		e++;
	return *e;
}

static bool fill_tree(struct calltree *tree, const struct profile_rows *samples, const struct emit_view *view)
{
	for (size_t i = 0; i < samples->n; i++) {
		const uint64_t value = samples->items[i].values[view->query->value];
		uint32_t node;
		if (value == 0)
			continue;
		if (!calltree_find(tree, samples->items[i].stack, &node))
			return false;
		tree->nodes[node].value += value;
	}
	return true;
}

bool emit_calltree(struct calltree *tree, const struct emit_view *view)
{
	struct profile_rows samples;
	const bool fine =
		profile_rows_collect(&samples, view->reader, view->profile, &view->query->filter, false) &&
		fill_tree(tree, &samples, view);
	profile_rows_finish(&samples);
	return fine;
}
