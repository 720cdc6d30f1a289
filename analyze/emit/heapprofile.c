/* SPDX-License-Identifier: MIT */
/*
 * V8's .heapprofile, a tree of calls with the bytes that each allocated itself, for the developer tools of
 * browsers and speedscope. Lines count from 0; -1: unknown.
 */
#include <errno.h>
#include <inttypes.h>

#include "emit.h"
#include "json.h"

static void open_node(struct out *out, const struct calltree *tree, uint32_t at)
{
	static const struct call root = { .function = "(root)", .file = "" };
	const struct calltree_node *node = &tree->nodes[at];
	const struct call *call = at == CALLTREE_ROOT ? &root : call_sites_at(tree->calls, node->call);
	out_text(out, "{\"callFrame\":{\"functionName\":");
	json_string(out, call->function);
	out_text(out, ",\"scriptId\":\"0\",\"url\":");
	json_string(out, call->file);
	out_printf(out, ",\"lineNumber\":%d,\"columnNumber\":-1},\"selfSize\":%" PRIu64 ",\"id\":%" PRIu32,
		   call->line - 1, node->value, at + 1);
	out_text(out, ",\"children\":[");
}

/* Opens nodes on the way down and closes them on the way up. */
static void write_tree(struct out *out, const struct calltree *tree)
{
	uint32_t depth = 0, at = CALLTREE_ROOT;
	open_node(out, tree, at);
	for (;;) {
		const uint32_t before = depth;
		at = calltree_next(tree, at, &depth);
		if (at == CALLTREE_ROOT) {
			for (uint32_t i = 0; i <= before; i++)
				out_text(out, "]}");
			return;
		}
		for (uint32_t i = depth; i <= before; i++)
			out_text(out, "]}");
		out_text(out, depth <= before ? ",\n" : "\n");
		open_node(out, tree, at);
	}
}

static void write_samples(struct out *out, const struct calltree *tree)
{
	const char *separator = "\n";
	for (uint32_t i = 0, ordinal = 0; i < tree->n; i++) {
		if (tree->nodes[i].value == 0)
			continue;
		out_printf(out, "%s{\"size\":%" PRIu64 ",\"nodeId\":%" PRIu32 ",\"ordinal\":%" PRIu32 "}",
			   separator, tree->nodes[i].value, i + 1, ++ordinal);
		separator = ",\n";
	}
}

static void write_heapprofile(struct out *out, const struct emit_view *view)
{
	struct call_sites *calls = call_sites_create(view->symbolizer);
	struct calltree tree = { 0 };
	if (calls && calltree_init(&tree, calls, true, view->reader, view->symbolizer, view->settings) &&
	    emit_calltree(&tree, view)) {
		out_text(out, "{\"head\":");
		write_tree(out, &tree);
		out_text(out, ",\n\"samples\":[");
		write_samples(out, &tree);
		out_text(out, "]}\n");
	} else {
		out_fail(out, ENOMEM);
	}
	calltree_finish(&tree);
	call_sites_destroy(calls);
}

const struct emitter emit_heapprofile = {
	.name = "heapprofile",
	.suffix = ".heapprofile",
	.help = "V8's heap profile: for Chromium's developer tools and speedscope",
	.source = EMIT_PROFILE,
	.one = true,
	.write = write_heapprofile,
};
