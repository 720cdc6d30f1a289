/* SPDX-License-Identifier: MIT */
#include "base.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define LEAST_NOISE 4096 /* bytes */

void base_finish(struct base *b)
{
	free(b->stacks);
	free(b->noise);
	*b = (struct base){ 0 };
}

uint64_t base_noise(enum figure figure, unsigned n_runs, uint64_t median, uint64_t deviation)
{
	const uint64_t least = figure_is_bytes(figure) ? LEAST_NOISE : 0;
	uint64_t noise = deviation < UINT64_MAX / 3 ? 3 * deviation : UINT64_MAX;
	if (n_runs < 2)
		return 0;
	noise = noise > median / 100 ? noise : median / 100;
	return noise > least ? noise : least;
}

/* ---- Medians ---- */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Of an even number the lower middle, which is a figure that there was. */
static uint64_t median(uint64_t *values, unsigned n)
{
	array_sort(values, n, sizeof(*values), compare);
	return values[(n - 1) / 2];
}

/* Unknown values are the largest, so an unknown median means that half of them are. `values` is changed. */
static uint64_t settle(enum figure figure, uint64_t *values, unsigned n, uint64_t *noise)
{
	const uint64_t middle = median(values, n);
	for (unsigned i = 0; i < n; i++)
		values[i] = values[i] > middle ? values[i] - middle : middle - values[i];
	*noise = base_noise(figure, n, middle, median(values, n));
	return middle;
}

/* ---- The stacks of all recordings ---- */

/* By stack and recording: the number of the stack there; MST_NONE: it has none. */
struct members {
	uint32_t *items;
	size_t room;
	unsigned n_runs;
};

static bool add_stack(struct base *b, struct members *m, const struct summary_stack *stack)
{
	const size_t first = (size_t)b->n * m->n_runs;
	if (!array_reserve(&b->stacks, b->n, &b->room, sizeof(*b->stacks)) ||
	    !array_reserve(&b->noise, b->n, &b->room_noise, sizeof(*b->noise)) ||
	    !array_reserve(&m->items, first + m->n_runs - 1, &m->room, sizeof(*m->items)))
		return false;
	memset(&m->items[first], 0xff, m->n_runs * sizeof(*m->items));
	b->stacks[b->n++] = *stack;
	return true;
}

/* Enters a recording: its stacks find those that are there already, or are new. */
static bool add_run(struct base *b, struct members *m, unsigned run, const struct labels *labels)
{
	const struct summary *s = &b->runs[run];
	const struct match_labels list = labels_list(labels);
	struct match_stack *old_list = summary_match_stacks(b->stacks, b->n),
			   *new_list = summary_match_stacks(s->stacks, s->n);
	struct match match = { 0 };
	bool fine = old_list && new_list &&
		    match_stacks(&match, &(struct match_side){ old_list, b->n },
				 &(struct match_side){ new_list, s->n }, &list);
	for (uint32_t i = 0; fine && i < s->n; i++) {
		uint32_t to = match.old_of[i];
		if (to == MST_NONE) {
			to = b->n;
			fine = add_stack(b, m, &s->stacks[i]);
		}
		if (fine)
			m->items[(size_t)to * m->n_runs + run] = i;
	}
	match_finish(&match);
	free(old_list);
	free(new_list);
	return fine;
}

static uint64_t member_figure(const struct base *b, const struct members *m, uint32_t stack, unsigned run,
			      unsigned figure)
{
	const uint32_t number = m->items[(size_t)stack * m->n_runs + run];
	if (number != MST_NONE)
		return b->runs[run].stacks[number].figures[figure];
	return figure == FIGURE_LIFE ? FIGURE_UNKNOWN : 0;
}

/* Two stacks of one recording never become one: their labels differ, and each has one partner at most. */
static void settle_all(struct base *b, const struct members *m, uint64_t *values)
{
	for (unsigned figure = 0; figure < FIGURES; figure++) {
		for (unsigned run = 0; run < b->n_runs; run++)
			values[run] = b->runs[run].totals[figure];
		b->totals[figure] = settle((enum figure)figure, values, b->n_runs, &b->total_noise[figure]);
		for (uint32_t i = 0; i < b->n; i++) {
			for (unsigned run = 0; run < b->n_runs; run++)
				values[run] = member_figure(b, m, i, run, figure);
			b->stacks[i].figures[figure] =
				settle((enum figure)figure, values, b->n_runs, &b->noise[i][figure]);
		}
	}
}

bool base_make(struct base *b, const struct summary *runs, unsigned n_runs, const struct labels *labels)
{
	struct members members = { .n_runs = n_runs };
	uint64_t *values = malloc(n_runs * sizeof(*values));
	bool fine = values;
	*b = (struct base){ .runs = runs, .n_runs = n_runs };
	for (unsigned run = 0; fine && run < n_runs; run++)
		fine = add_run(b, &members, run, labels);
	if (fine)
		settle_all(b, &members, values);
	free(values);
	free(members.items);
	return fine;
}
