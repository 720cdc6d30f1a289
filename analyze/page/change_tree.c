/* SPDX-License-Identifier: MIT */
#include "change_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "index_map.h"
#include "tree_choice.h"

/* A change counts more than as much that stayed. */
#define CHANGE_COUNTS 4.

#define SEVERAL (MST_NONE - 1)

/* By what nodes are large; lifetimes are no sums. */
static const enum figure measures[] = { FIGURE_PEAK, FIGURE_END, FIGURE_BYTES, FIGURE_CALLS,
					FIGURE_TEMPORARY };

enum { MEASURES = sizeof(measures) / sizeof(*measures) };

struct builder {
	const struct diff *diff;
	const struct match_labels *labels;
	uint32_t *new_of;    /* by label: the new recording's that it counts as */
	uint32_t *labels_of; /* by node; the first is the root, which is no call */
	uint32_t *parents;
	uint32_t n, room, room_parents;
	struct index_map children; /* by parent and label */
	uint32_t *of_rows;
	struct tree_choice choice;
};

void change_tree_finish(struct change_tree *tree)
{
	free(tree->items);
	free(tree->of_rows);
	*tree = (struct change_tree){ 0 };
}

static void finish(struct builder *b)
{
	free(b->new_of);
	free(b->labels_of);
	free(b->parents);
	free(b->of_rows);
	index_map_finish(&b->children);
	tree_choice_finish(&b->choice);
}

/* ---- Labels of both sides ---- */

/* Labels of the new recording by their loose ones; SEVERAL: there are several. */
static void note_new_labels(const struct builder *b, uint32_t *of_loose)
{
	const struct summary *now = b->diff->now;
	for (uint32_t i = 0; i < now->n; i++) {
		for (uint32_t k = 0; k < now->stacks[i].n; k++) {
			const uint32_t label = now->stacks[i].labels[k], loose = b->labels->loose[label];
			b->new_of[label] = label;
			if (of_loose[loose] == MST_NONE)
				of_loose[loose] = label;
			else if (of_loose[loose] != label)
				of_loose[loose] = SEVERAL;
		}
	}
}

/* False: no memory. */
static bool pair_labels(struct builder *b)
{
	const uint32_t n = b->labels->n;
	uint32_t *of_loose = malloc((n + (size_t)1) * sizeof(*of_loose));
	b->new_of = malloc((n + (size_t)1) * sizeof(*b->new_of));
	if (of_loose && b->new_of) {
		memset(of_loose, 0xff, n * sizeof(*of_loose));
		memset(b->new_of, 0xff, n * sizeof(*b->new_of));
		note_new_labels(b, of_loose);
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t like = of_loose[b->labels->loose[i]];
			if (b->new_of[i] == MST_NONE)
				b->new_of[i] = like >= SEVERAL || b->labels->nameless[i] ? i : like;
		}
	}
	free(of_loose);
	return of_loose && b->new_of;
}

/* ---- The tree ---- */

/* MST_NONE: no memory. */
static uint32_t add_node(struct builder *b, uint32_t parent, uint32_t label)
{
	if (!array_reserve(&b->labels_of, b->n, &b->room, sizeof(*b->labels_of)) ||
	    !array_reserve(&b->parents, b->n, &b->room_parents, sizeof(*b->parents)))
		return MST_NONE;
	b->labels_of[b->n] = label;
	b->parents[b->n] = parent;
	return b->n++;
}

/* MST_NONE: no memory. */
static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t label)
{
	const uint64_t key = (uint64_t)parent << 32 | label;
	uint64_t number = b->n;
	if (index_map_find(&b->children, key, &number))
		return (uint32_t)number;
	return index_map_put(&b->children, key, number) ? add_node(b, parent, label) : MST_NONE;
}

/* The node of a stack. MST_NONE: no memory. */
static uint32_t add_stack(struct builder *b, const struct summary_stack *stack)
{
	uint32_t node = 0;
	if (stack->n == 0)
		return child_of(b, 0, b->labels->n);
	for (uint32_t i = stack->n; i-- > 0 && node != MST_NONE;)
		node = child_of(b, node, b->new_of[stack->labels[i]]);
	return node;
}

static bool build(struct builder *b)
{
	const struct diff *d = b->diff;
	b->of_rows = malloc((d->n + (size_t)1) * sizeof(*b->of_rows));
	if (!b->of_rows || add_node(b, 0, MST_NONE) == MST_NONE)
		return false;
	for (uint32_t i = 0; i < d->n; i++) {
		const struct diff_row *row = &d->rows[i];
		b->of_rows[i] = add_stack(b, row->after ? row->after : row->before);
		if (b->of_rows[i] == MST_NONE)
			return false;
	}
	return true;
}

/* ---- The choice ---- */

static double distance(uint64_t a, uint64_t b)
{
	return (double)(a > b ? a - b : b - a);
}

/* What of a figure a row has, in bytes or blocks. 0 if it isn't known. */
static double weight_of(const struct diff_row *row, enum figure figure)
{
	const uint64_t before = diff_before(row, figure), after = diff_after(row, figure);
	if (before == FIGURE_UNKNOWN || after == FIGURE_UNKNOWN)
		return 0;
	return CHANGE_COUNTS * distance(before, after) + (double)before + (double)after;
}

/* By node what share of all figures it has, with its descendants. NULL: no memory. */
static double *share_out(const struct builder *b)
{
	const struct diff *d = b->diff;
	double all[MEASURES] = { 0 }, *shares = calloc(b->n, sizeof(*shares));
	for (uint32_t i = 0; i < d->n; i++) {
		for (unsigned m = 0; m < MEASURES; m++)
			all[m] += weight_of(&d->rows[i], measures[m]);
	}
	for (uint32_t i = 0; shares && i < d->n; i++) {
		for (unsigned m = 0; m < MEASURES; m++)
			shares[b->of_rows[i]] +=
				all[m] > 0 ? weight_of(&d->rows[i], measures[m]) / all[m] : 0;
	}
	for (uint32_t i = b->n; shares && i-- > 1;)
		shares[b->parents[i]] += shares[i];
	return shares;
}

static bool choose(struct builder *b, uint32_t most)
{
	double *shares = share_out(b);
	const bool fine = shares && tree_choose(&b->choice, b->parents, shares, b->n, most);
	free(shares);
	return fine;
}

/* ---- What the page has ---- */

static bool take(struct builder *b, struct change_tree *to)
{
	const struct tree_choice *c = &b->choice;
	to->n = c->n;
	to->n_all = b->n - 1;
	to->items = malloc((to->n + (size_t)1) * sizeof(*to->items));
	to->of_rows = malloc((b->diff->n + (size_t)1) * sizeof(*to->of_rows));
	if (!to->items || !to->of_rows)
		return false;
	for (uint32_t i = 0; i < b->n; i++) {
		if (c->numbers[i] != MST_NONE)
			to->items[c->numbers[i]] =
				(struct change_node){ c->numbers[b->parents[i]], b->labels_of[i], 0 };
		if (c->others[i] != MST_NONE)
			to->items[c->others[i]] = (struct change_node){ c->numbers[i], MST_NONE, 0 };
	}
	for (uint32_t i = 0; i < b->diff->n; i++) {
		to->of_rows[i] = tree_choice_of(c, b->parents, b->of_rows[i]);
		if (to->of_rows[i] >= c->n_shown)
			to->items[to->of_rows[i]].others++;
	}
	return true;
}

bool change_tree_make(struct change_tree *tree, const struct diff *diff, const struct match_labels *labels,
		      uint32_t most)
{
	struct builder b = { .diff = diff, .labels = labels };
	const bool fine = pair_labels(&b) && build(&b) && choose(&b, most) && take(&b, tree);
	finish(&b);
	return fine;
}
