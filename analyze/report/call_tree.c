/* SPDX-License-Identifier: MIT */
#include "call_tree.h"

#include <stdlib.h>

#include "array.h"
#include "calltree.h"
#include "sample_weight.h"

static const struct answer_column columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "chain", "frames", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "first", "from main inwards", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "depth", "", ANSWER_COUNT, ANSWER_DATA },
	{ "function", "to", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
};

enum { FIRST_COLUMN = 3 }; /* its next one is the depth */

struct drawing {
	struct report *report;
	struct calltree tree;
	uint64_t *sums; /* by node: bytes of it and of what it called */
	double least;   /* bytes of a branch that is shown */
};

/* The head of a chain that is still to be written. */
struct branch {
	uint32_t node, depth;
	uint64_t bytes;
};

static bool fill(struct drawing *d)
{
	struct report *r = d->report;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	const uint64_t mean = mst_reader_info(r->reader)->sample_bytes;
	struct profile_row row;
	for (size_t i = 0; profile_row(r->profile, i, &row); i++) {
		const uint64_t size = kinds[row.kind].size;
		uint32_t node;
		if (row.inuse == 0)
			continue;
		if (!calltree_find(&d->tree, kinds[row.kind].stack, &node))
			return false;
		d->tree.nodes[node].value += row.inuse * weight_bytes(mean, size, size);
	}
	d->sums = calloc(d->tree.n + (size_t)1, sizeof(*d->sums));
	/* Parents come first. */
	for (uint32_t i = d->tree.n; d->sums && i-- > 0;) {
		d->sums[i] += d->tree.nodes[i].value;
		if (i != CALLTREE_ROOT)
			d->sums[d->tree.nodes[i].parent] += d->sums[i];
	}
	return d->sums;
}

static bool is_shown(const struct drawing *d, uint32_t node)
{
	return d->sums[node] && (double)d->sums[node] >= d->least;
}

/* The only child that is shown; 0: there is none, or more than one. */
static uint32_t only_child(const struct drawing *d, uint32_t node)
{
	uint32_t only = 0;
	for (uint32_t c = d->tree.nodes[node].child; c; c = d->tree.nodes[c].sibling) {
		if (!is_shown(d, c))
			continue;
		if (only)
			return 0;
		only = c;
	}
	return only;
}

/* Writes a chain; returns its last node. */
static uint32_t write_chain(struct drawing *d, const struct branch *b)
{
	struct answer *a = d->report->answer;
	const struct calltree *tree = &d->tree;
	uint32_t last = b->node, next, n = 1;
	/* A chain goes on while the branch loses less than a tenth. */
	while ((next = only_child(d, last)) && d->sums[next] >= b->bytes - b->bytes / 10) {
		last = next;
		n++;
	}
	const struct call *call = call_sites_at(tree->calls, tree->nodes[last].call);
	answer_number(a, b->bytes);
	answer_real(a, report_share(b->bytes, d->sums[CALLTREE_ROOT]));
	answer_number(a, n);
	answer_text(a, call_sites_at(tree->calls, tree->nodes[b->node].call)->function);
	answer_number(a, b->depth);
	answer_text(a, n > 1 ? call->function : NULL);
	answer_text(a, *call->file ? call->file : NULL);
	return last;
}

/* The smallest first. */
static int compare(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->node < y->node) - (x->node > y->node);
}

/* `stack` has room for all nodes; its last branch is written next. */
static void write_branches(struct drawing *d, struct branch *stack)
{
	uint32_t n = 0;
	stack[n++] = (struct branch){ CALLTREE_ROOT, 0, d->sums[CALLTREE_ROOT] };
	while (n > 0) {
		const struct branch b = stack[--n];
		const uint32_t last = b.node == CALLTREE_ROOT ? CALLTREE_ROOT : write_chain(d, &b);
		const uint32_t depth = b.node == CALLTREE_ROOT ? 0 : b.depth + 1;
		const uint32_t first = n;
		for (uint32_t c = d->tree.nodes[last].child; c; c = d->tree.nodes[c].sibling) {
			if (is_shown(d, c))
				stack[n++] = (struct branch){ c, depth, d->sums[c] };
		}
		array_sort(stack + first, n - first, sizeof(*stack), compare);
	}
}

void call_tree_write(struct report *r)
{
	struct drawing d = { .report = r };
	struct branch *stack = NULL;
	answer_table(r->answer, "tree", NULL, columns, sizeof(columns) / sizeof(*columns));
	answer_indent(r->answer, FIRST_COLUMN);
	if (calltree_init(&d.tree, r->calls, false, r->reader, r->symbolizer, r->settings) && fill(&d)) {
		stack = malloc((d.tree.n + (size_t)1) * sizeof(*stack));
		d.least = r->query->threshold * (double)d.sums[CALLTREE_ROOT];
	}
	if (stack)
		write_branches(&d, stack);
	else
		r->no_memory = true;
	free(stack);
	free(d.sums);
	calltree_finish(&d.tree);
}
