/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <string.h>

#define FORMAT(name) &emit_##name,
const struct emitter *const emitters[] = {
#include "emit_formats.h"
	NULL,
};
#undef FORMAT

const struct emitter *emitter_find(const char *name)
{
	const struct emitter *const *e = emitters;

	while (*e && strcmp((*e)->name, name) != 0)
		e++;
	return *e;
}

static bool fill_tree(struct calltree *tree, const struct profile_rows *rows, const struct emit_view *view)
{
	for (size_t i = 0; i < rows->n; i++) {
		const uint64_t value = rows->items[i].values[view->query->value];
		uint32_t node;
		if (value == 0)
			continue;
		if (!calltree_find(tree, rows->items[i].stack, &node))
			return false;
		tree->nodes[node].value += value;
	}
	return true;
}

bool emit_calltree(struct calltree *tree, const struct emit_view *view)
{
	struct profile_rows rows;
	const bool fine =
		profile_rows_collect(&rows, view->reader, view->profile, &view->query->filter, false) &&
		fill_tree(tree, &rows, view);
	profile_rows_finish(&rows);
	return fine;
}
