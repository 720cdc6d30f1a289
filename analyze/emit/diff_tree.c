/* SPDX-License-Identifier: MIT */
#include "diff_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "call_sites.h"

/* One profile on its way into the tree. */
struct adding {
	struct diff_tree *diff;
	enum diff_side side;
	const struct diff_amount *amounts;
	unsigned n_amounts;
	uint32_t top; /* the node that stands for the profile's root */
	struct call_sites *calls;
	struct calltree tree;
	uint32_t *nodes; /* by node of `tree`: that of the diff */
	uint32_t n, room;
};

/* The diff's node for a call below another one, made if need be. False: no memory. */
static bool add_name(struct diff_tree *d, uint32_t parent, const char *function, uint32_t *node)
{
	uint32_t call;
	return call_sites_mark(d->calls, function, &call) && calltree_add(&d->tree, parent, call, node) &&
	       array_reserve_zeroed(&d->values, *node, &d->room, sizeof(*d->values));
}

/* Extends `nodes` to all nodes of the profile's tree; parents come first. False: no memory. */
static bool map_nodes(struct adding *a)
{
	for (; a->n < a->tree.n; a->n++) {
		const struct calltree_node *node = &a->tree.nodes[a->n];
		if (!array_reserve(&a->nodes, a->n, &a->room, sizeof(*a->nodes)))
			return false;
		if (a->n == CALLTREE_ROOT)
			a->nodes[a->n] = a->top;
		else if (!add_name(a->diff, a->nodes[node->parent],
				   call_sites_at(a->calls, node->call)->function, &a->nodes[a->n]))
			return false;
	}
	return true;
}

static bool add_row(struct adding *a, const struct stack_row *row)
{
	uint64_t any = 0;
	uint32_t node;
	for (unsigned i = 0; i < a->n_amounts; i++)
		any |= diff_amount_of(row, &a->amounts[i]);
	if (any == 0)
		return true;
	if (!calltree_find(&a->tree, row->stack, &node) || !map_nodes(a))
		return false;
	struct diff_values *values = &a->diff->values[a->nodes[node]];
	for (unsigned i = 0; i < a->n_amounts; i++)
		values->of[a->side][i] += diff_amount_of(row, &a->amounts[i]);
	return true;
}

/* False: no memory. */
static bool add_profile(struct adding *a, const struct emit_view *view)
{
	struct profile_rows rows = { 0 };
	a->calls = call_sites_create(view->symbolizer);
	bool fine =
		a->calls &&
		calltree_init(&a->tree, a->calls, false, view->reader, view->symbolizer, view->settings) &&
		map_nodes(a) &&
		profile_rows_collect(&rows, view->reader, view->profile, &view->query->filter, false);
	for (size_t i = 0; fine && i < rows.n; i++)
		fine = add_row(a, &rows.items[i]);
	profile_rows_finish(&rows);
	calltree_finish(&a->tree);
	call_sites_destroy(a->calls);
	free(a->nodes);
	return fine;
}

/* Makes the node that all stacks are below. False: no memory. */
static bool make_top(struct diff_tree *d, const struct emit_view *view, const struct emit_view *base,
		     bool marked, uint32_t *top)
{
	char text[EMIT_SAMPLES_TEXT], call[EMIT_SAMPLES_TEXT + 2];
	*top = CALLTREE_ROOT;
	emit_samples_text(text, view, base);
	snprintf(call, sizeof(call), "[%s]", text);
	return array_reserve_zeroed(&d->values, CALLTREE_ROOT, &d->room, sizeof(*d->values)) &&
	       (!marked || !*text || add_name(d, CALLTREE_ROOT, call, top));
}

bool diff_tree_make(struct diff_tree *d, const struct emit_view *view, const struct emit_view *base,
		    const struct diff_amount *amounts, unsigned n_amounts, bool marked)
{
	struct adding each = { .diff = d, .amounts = amounts, .n_amounts = n_amounts };
	*d = (struct diff_tree){ .calls = call_sites_create(NULL) };
	if (!d->calls || !calltree_init_plain(&d->tree, d->calls) ||
	    !make_top(d, view, base, marked, &each.top))
		return false;
	struct adding before = each, after = each;
	before.side = DIFF_OLD;
	after.side = DIFF_NEW;
	return add_profile(&after, view) && add_profile(&before, base);
}

void diff_tree_finish(struct diff_tree *d)
{
	calltree_finish(&d->tree);
	call_sites_destroy(d->calls);
	free(d->values);
}
