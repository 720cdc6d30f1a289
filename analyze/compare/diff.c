/* SPDX-License-Identifier: MIT */
#include "diff.h"

#include <stdlib.h>

#include "array.h"

const char *const diff_list_names[DIFF_LISTS] = { "same", "grew", "shrank", "new", "gone" };

void diff_finish(struct diff *d)
{
	free(d->rows);
	*d = (struct diff){ 0 };
}

static void fill_rows(struct diff *d, const struct match *match)
{
	const struct base *b = d->base;
	for (uint32_t i = 0; i < b->n; i++) {
		const uint32_t k = match->new_of[i];
		d->rows[d->n++] = (struct diff_row){ &b->stacks[i], k == MST_NONE ? NULL : &d->now->stacks[k],
						     b->noise[i], match->how[i] };
	}
	for (uint32_t i = 0; i < d->now->n; i++) {
		if (match->old_of[i] == MST_NONE)
			d->rows[d->n++] = (struct diff_row){ .after = &d->now->stacks[i] };
	}
}

bool diff_make(struct diff *d, const struct base *base, const struct summary *now,
	       const struct labels *labels)
{
	const struct match_labels list = labels_list(labels);
	struct match_stack *before = summary_match_stacks(base->stacks, base->n);
	struct match_stack *after = summary_match_stacks(now->stacks, now->n);
	struct match match = { 0 };
	*d = (struct diff){ .base = base, .now = now };
	d->rows = malloc(((size_t)base->n + now->n + 1) * sizeof(*d->rows));
	const bool fine = before && after && d->rows &&
			  match_stacks(&match, &(struct match_side){ before, base->n },
				       &(struct match_side){ after, now->n }, &list);
	if (fine)
		fill_rows(d, &match);
	match_finish(&match);
	free(before);
	free(after);
	return fine;
}

/* ---- Figures ---- */

uint64_t diff_before(const struct diff_row *row, enum figure figure)
{
	return row->before ? row->before->figures[figure] : figure == FIGURE_LIFE ? FIGURE_UNKNOWN : 0;
}

uint64_t diff_after(const struct diff_row *row, enum figure figure)
{
	return row->after ? row->after->figures[figure] : figure == FIGURE_LIFE ? FIGURE_UNKNOWN : 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

enum diff_list diff_list_of(const struct diff *d, const struct diff_row *row, enum figure figure)
{
	const uint64_t before = diff_before(row, figure), after = diff_after(row, figure);
	const uint64_t noise = row->noise ? row->noise[figure] : base_noise(figure, d->base->n_runs, 0, 0);
	if (before == FIGURE_UNKNOWN || after == FIGURE_UNKNOWN || distance(before, after) <= noise)
		return DIFF_SAME;
	if (!row->before)
		return DIFF_NEW;
	if (!row->after)
		return DIFF_GONE;
	return after > before ? DIFF_GREW : DIFF_SHRANK;
}

struct diff_sums diff_sum(const struct diff *d, enum figure figure)
{
	struct diff_sums sums = { 0 };
	for (uint32_t i = 0; i < d->n; i++) {
		const enum diff_list list = diff_list_of(d, &d->rows[i], figure);
		sums.rows[list]++;
		if (figure != FIGURE_LIFE)
			sums.changes[list] += diff_change(&d->rows[i], figure);
	}
	return sums;
}

bool diff_total_changed(const struct diff *d, enum figure figure)
{
	const uint64_t before = d->base->totals[figure], after = d->now->totals[figure];
	return before != FIGURE_UNKNOWN && after != FIGURE_UNKNOWN &&
	       distance(before, after) > d->base->total_noise[figure];
}

/* ---- Lists ---- */

struct ranked {
	uint64_t change;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->change != y->change)
		return x->change > y->change ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

const struct diff_row **diff_rows(const struct diff *d, enum figure figure, enum diff_list list, uint32_t *n)
{
	struct ranked *ranks = malloc((d->n + (size_t)1) * sizeof(*ranks));
	const struct diff_row **rows = malloc((d->n + (size_t)1) * sizeof(*rows));
	*n = 0;
	for (uint32_t i = 0; ranks && rows && i < d->n; i++) {
		const struct diff_row *row = &d->rows[i];
		if (diff_list_of(d, row, figure) == list)
			ranks[(*n)++] =
				(struct ranked){ distance(diff_before(row, figure), diff_after(row, figure)),
						 i };
	}
	if (ranks && rows)
		array_sort(ranks, *n, sizeof(*ranks), compare);
	for (uint32_t i = 0; ranks && rows && i < *n; i++)
		rows[i] = &d->rows[ranks[i].number];
	if (!ranks) {
		free(rows);
		rows = NULL;
	}
	free(ranks);
	return rows;
}
