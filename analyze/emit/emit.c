/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <inttypes.h>
#include <stdio.h>
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

uint64_t emit_sample_mean(const struct emit_view *view)
{
	return view->settings->pages_as_heap ? 0 : mst_reader_info(view->reader)->sample_bytes;
}

void emit_sample_text(char text[EMIT_SAMPLE_TEXT], const struct emit_view *view)
{
	const uint64_t mean = emit_sample_mean(view);

	*text = '\0';
	if (mean)
		snprintf(text, EMIT_SAMPLE_TEXT, "estimates: a sample of one block in %" PRIu64 " bytes",
			 mean);
}

void emit_samples_text(char text[EMIT_SAMPLES_TEXT], const struct emit_view *view,
		       const struct emit_view *base)
{
	const uint64_t old = emit_sample_mean(base), now = emit_sample_mean(view);
	const char *all = "every block";
	char a[48], b[48];
	snprintf(a, sizeof(a), "one block in %" PRIu64 " bytes", old);
	snprintf(b, sizeof(b), "one block in %" PRIu64 " bytes", now);
	if (old == now)
		emit_sample_text(text, view);
	else
		snprintf(text, EMIT_SAMPLES_TEXT, "estimates: a sample of %s, before of %s", now ? b : all,
			 old ? a : all);
}

void emit_sample(struct out *out, const struct emit_view *view)
{
	char text[EMIT_SAMPLE_TEXT];

	emit_sample_text(text, view);
	if (*text)
		out_printf(out, " (%s)", text);
}

/* False: no memory. */
static bool mark_tree(struct calltree *tree, const struct emit_view *view)
{
	char text[EMIT_SAMPLE_TEXT], mark[EMIT_SAMPLE_TEXT + 2];

	emit_sample_text(text, view);
	snprintf(mark, sizeof(mark), "[%s]", text);
	return !*text || calltree_mark(tree, mark);
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
		mark_tree(tree, view) && fill_tree(tree, &rows, view);
	profile_rows_finish(&rows);
	return fine;
}
