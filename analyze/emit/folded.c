/* SPDX-License-Identifier: MIT */
/* Folded stacks as flamegraph.pl reads them: "main;f;g 4096", outermost function first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "emit.h"
#include "stack_path.h"

static void write_line(struct out *out, const struct stack_path *path, uint64_t value)
{
	if (value == 0)
		return;
	out_write(out, path->n ? path->text : "[no stack]", path->n ? path->n : strlen("[no stack]"));
	out_printf(out, " %" PRIu64 "\n", value);
}

/*
 * `path` is that of the node being visited: it grows on the way down and shrinks on the way up. `ends`: its length by
 * depth.
 */
static void write_tree(struct out *out, const struct calltree *tree, struct stack_path *path, size_t *ends)
{
	uint32_t depth = 0;
	ends[0] = 0;
	write_line(out, path, tree->nodes[CALLTREE_ROOT].value);
	for (uint32_t at = calltree_next(tree, CALLTREE_ROOT, &depth); at != CALLTREE_ROOT;
	     at = calltree_next(tree, at, &depth)) {
		path->n = ends[depth - 1];
		if (!stack_path_append(path, call_sites_at(tree->calls, tree->nodes[at].call)->function)) {
			out_fail(out, ENOMEM);
			return;
		}
		ends[depth] = path->n;
		write_line(out, path, tree->nodes[at].value);
	}
}

static void write_folded(struct out *out, const struct emit_view *view)
{
	struct call_sites *calls = call_sites_create(view->symbolizer);
	struct calltree tree = { 0 };
	struct stack_path path = { 0 };
	size_t *ends = NULL;
	if (calls && calltree_init(&tree, calls, false, view->reader, view->symbolizer, view->settings) &&
	    emit_calltree(&tree, view))
		ends = malloc((size_t)tree.n * sizeof(*ends));
	if (ends)
		write_tree(out, &tree, &path, ends);
	else
		out_fail(out, ENOMEM);
	free(ends);
	free(path.text);
	calltree_finish(&tree);
	call_sites_destroy(calls);
}

const struct emitter emit_folded = {
	.name = "folded",
	.suffix = ".folded",
	.help = "folded stacks, one line each: for flamegraph.pl, inferno, speedscope",
	.source = EMIT_PROFILE,
	.one = true,
	.write = write_folded,
};
