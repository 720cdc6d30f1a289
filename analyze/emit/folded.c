/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks as flamegraph.pl reads them: "main;f;g 4096", outermost function first. Differences are in
 * difffolded.pl's form: "main;f;g 4096 8192", the old value and the new one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "diff_tree.h"
#include "emit.h"
#include "stack_path.h"

/* A tree on its way out. */
struct walk {
	struct out *out;
	const struct calltree *tree;
	const struct diff_values *values; /* of differences, by node; NULL: the tree's own values */
	struct stack_path path; /* of the present node: it grows on the way down and shrinks on the way up */
	size_t *ends;           /* length of the path by depth */
};

static void write_line(struct walk *w, uint32_t node)
{
	const uint64_t old = w->values ? w->values[node].of[DIFF_OLD][0] : 0;
	const uint64_t now = w->values ? w->values[node].of[DIFF_NEW][0] : w->tree->nodes[node].value;
	if (old == 0 && now == 0)
		return;
	out_write(w->out, w->path.n ? w->path.text : "[no stack]",
		  w->path.n ? w->path.n : strlen("[no stack]"));
	if (w->values)
		out_printf(w->out, " %" PRIu64, old);
	out_printf(w->out, " %" PRIu64 "\n", now);
}

static void write_nodes(struct walk *w)
{
	const struct calltree *tree = w->tree;
	uint32_t depth = 0;
	w->ends[0] = 0;
	write_line(w, CALLTREE_ROOT);
	for (uint32_t at = calltree_next(tree, CALLTREE_ROOT, &depth); at != CALLTREE_ROOT;
	     at = calltree_next(tree, at, &depth)) {
		w->path.n = w->ends[depth - 1];
		if (!stack_path_append(&w->path,
				       call_sites_at(tree->calls, tree->nodes[at].call)->function)) {
			out_fail(w->out, ENOMEM);
			return;
		}
		w->ends[depth] = w->path.n;
		write_line(w, at);
	}
}

static void write_tree(struct out *out, const struct calltree *tree, const struct diff_values *values)
{
	struct walk walk = { .out = out, .tree = tree, .values = values };
	walk.ends = malloc((size_t)tree->n * sizeof(*walk.ends));
	if (walk.ends)
		write_nodes(&walk);
	else
		out_fail(out, ENOMEM);
	free(walk.ends);
	free(walk.path.text);
}

static void write_folded(struct out *out, const struct emit_view *view)
{
	struct call_sites *calls = call_sites_create(view->symbolizer);
	struct calltree tree = { 0 };
	if (calls && calltree_init(&tree, calls, false, view->reader, view->symbolizer, view->settings) &&
	    emit_calltree(&tree, view))
		write_tree(out, &tree, NULL);
	else
		out_fail(out, ENOMEM);
	calltree_finish(&tree);
	call_sites_destroy(calls);
}

static void write_folded_diff(struct out *out, const struct emit_view *view, const struct emit_view *base)
{
	const struct diff_amount amount = { .value = view->query->value };
	struct diff_tree diff;
	if (diff_tree_make(&diff, view, base, &amount, 1, true))
		write_tree(out, &diff.tree, diff.values);
	else
		out_fail(out, ENOMEM);
	diff_tree_finish(&diff);
}

const struct emitter emit_folded = {
	.name = "folded",
	.suffix = ".folded",
	.help = "folded stacks, one line each: for flamegraph.pl, inferno, speedscope",
	.source = EMIT_PROFILE,
	.one = true,
	.write = write_folded,
	.write_diff = write_folded_diff,
};
