/* SPDX-License-Identifier: MIT */
#include "repeat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "figures.h"
#include "hash_index.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const all_figures[] = { "peak",      "end",     "leaked", "bytes",   "calls",
					   "temporary", "largest", "rss",    "threads", "errors" };

/* Of stacks. */
static const enum figure stack_figures[] = { FIGURE_PEAK, FIGURE_END, FIGURE_BYTES, FIGURE_CALLS,
					     FIGURE_TEMPORARY };

void repeat_finish(struct repeat *r)
{
	for (size_t i = 0; i < r->n; i++) {
		limit_finish(&r->figures[i].limit);
		free(r->figures[i].values);
	}
	free(r->figures);
	*r = (struct repeat){ 0 };
}

/* ---- Figures ---- */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Values are sorted: their order is of no interest. */
static void measure(const struct repeat *r, struct repeat_figure *f)
{
	const struct gate gate = { .labels = r->labels };
	for (unsigned i = 0; i < r->n_runs && !f->why; i++) {
		const struct gate_subject subject = { .run = &r->runs[i] };
		f->why = f->limit.measure == MEASURE_LIVE
				 ? "live is not repeated: give the moment with --at"
				 : gate_measure(&gate, &f->limit, &subject, &f->values[i]);
	}
	array_sort(f->values, r->n_runs, sizeof(*f->values), compare);
	f->least = f->values[0];
	f->median = f->values[(r->n_runs - 1) / 2];
	f->most = f->values[r->n_runs - 1];
}

static void try_limit(struct repeat_figure *f, unsigned n_runs)
{
	for (unsigned i = 0; i < n_runs; i++) {
		for (unsigned base = 0; base < (f->limit.relative ? n_runs : 1); base++) {
			f->compared++;
			f->held +=
				limit_holds(&f->limit, f->values[i], limit_bound(&f->limit, f->values[base]));
		}
	}
}

static bool add(struct repeat *r, const char *text, bool given)
{
	struct repeat_figure f = { .given = given };
	if (limit_parse(&f.limit, text) || !array_reserve(&r->figures, r->n, &r->room, sizeof(*r->figures)) ||
	    !(f.values = calloc(r->n_runs, sizeof(*f.values)))) {
		limit_finish(&f.limit);
		return false;
	}
	measure(r, &f);
	if (given && !f.why)
		try_limit(&f, r->n_runs);
	r->figures[r->n++] = f;
	return true;
}

bool repeat_add_limit(struct repeat *r, const char *text)
{
	return add(r, text, true);
}

bool repeat_make(struct repeat *r, const struct summary *runs, unsigned n_runs, const struct labels *labels)
{
	char text[32];
	bool fine = true;
	*r = (struct repeat){ .labels = labels, .runs = runs, .n_runs = n_runs };
	for (size_t i = 0; i < COUNT(all_figures) && fine; i++) {
		snprintf(text, sizeof(text), "%s <= +0", all_figures[i]);
		fine = add(r, text, false);
	}
	return fine;
}

bool repeat_is_noisy(const struct repeat_figure *f)
{
	return f->given && (f->why || (f->held && f->held < f->compared));
}

bool repeat_varies(const struct repeat *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct repeat_figure *f = &r->figures[i];
		if (!f->given && !f->why && f->limit.measure != MEASURE_RSS && f->least != f->most)
			return true;
	}
	return false;
}

/* ---- Stacks ---- */

/* What a stack is in all runs. */
struct row {
	const struct summary_stack *stack;
	uint64_t least[COUNT(stack_figures)], most[COUNT(stack_figures)];
	unsigned runs; /* that have it */
};

struct rows {
	struct row *items;
	uint32_t n, room;
	struct hash_index index;
};

/* Runs of one build have equal labels. NULL: no memory. */
static struct row *find_row(struct rows *rows, const struct summary_stack *s)
{
	const uint32_t hash = hash_text((const char *)s->labels, s->n * sizeof(*s->labels));
	uint32_t id;
	if (!hash_index_reserve(&rows->index) ||
	    !array_reserve(&rows->items, rows->n, &rows->room, sizeof(*rows->items)))
		return NULL;
	for (uint32_t at = hash_index_first(&rows->index, hash);
	     hash_index_next(&rows->index, hash, &at, &id);) {
		const struct summary_stack *known = rows->items[id].stack;
		if (known->n == s->n &&
		    (s->n == 0 || memcmp(known->labels, s->labels, s->n * sizeof(*s->labels)) == 0))
			return &rows->items[id];
	}
	hash_index_add(&rows->index, hash, rows->n);
	rows->items[rows->n] = (struct row){ .stack = s };
	memset(rows->items[rows->n].least, 0xff, sizeof(rows->items->least));
	return &rows->items[rows->n++];
}

/* False: no memory. A stack that some runs lack has 0 there. */
static bool collect(struct rows *rows, const struct repeat *r)
{
	for (unsigned run = 0; run < r->n_runs; run++) {
		for (uint32_t i = 0; i < r->runs[run].n; i++) {
			struct row *row = find_row(rows, &r->runs[run].stacks[i]);
			if (!row)
				return false;
			row->runs++;
			for (size_t f = 0; f < COUNT(stack_figures); f++) {
				const uint64_t value = r->runs[run].stacks[i].figures[stack_figures[f]];
				row->least[f] = value < row->least[f] ? value : row->least[f];
				row->most[f] = value > row->most[f] ? value : row->most[f];
			}
		}
	}
	for (uint32_t i = 0; i < rows->n; i++) {
		if (rows->items[i].runs < r->n_runs)
			memset(rows->items[i].least, 0, sizeof(rows->items->least));
	}
	return true;
}

/* ---- The answer ---- */

static char *show(char text[FIGURE_SIZE], bool bytes, uint64_t n, bool si)
{
	return bytes ? figure_bytes(text, n, si) : thousands(text, n);
}

/* The next of 1, 2, 5, 10, 20 ... that is no less. */
static uint64_t round_up(uint64_t n)
{
	static const uint64_t steps[] = { 1, 2, 5 };
	uint64_t power = 1;
	while (power <= UINT64_MAX / 100) {
		for (size_t i = 0; i < COUNT(steps); i++) {
			if (steps[i] * power >= n)
				return steps[i] * power;
		}
		power *= 10;
	}
	return n;
}

/* Twice what was seen, because more runs vary more: "+0", "+2%", or "+5000" of a figure that may be 0. */
static void suggest(char text[FIGURE_SIZE], const struct repeat_figure *f)
{
	const uint64_t spread = f->most - f->least;
	if (spread == 0)
		snprintf(text, FIGURE_SIZE, "+0");
	else if (f->least == 0 || spread / f->least >= 10)
		snprintf(text, FIGURE_SIZE, "+%llu", (unsigned long long)round_up(2 * spread));
	else
		snprintf(text, FIGURE_SIZE, "+%llu%%",
			 (unsigned long long)round_up(
				 (uint64_t)(200.0 * (double)spread / (double)f->least + 1)));
}

static const struct answer_column figure_columns[] = {
	{ "figure", "figure", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "least_shown", "least", ANSWER_TEXT, ANSWER_SCREEN },
	{ "most_shown", "most", ANSWER_TEXT, ANSWER_SCREEN },
	{ "unit", "", ANSWER_TEXT, ANSWER_DATA },
	{ "least", "", ANSWER_COUNT, ANSWER_DATA },
	{ "median", "", ANSWER_COUNT, ANSWER_DATA },
	{ "most", "", ANSWER_COUNT, ANSWER_DATA },
	{ "spread", "varies by", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "tolerance", "limit", ANSWER_TEXT, ANSWER_EVERYWHERE },
};

static void write_figures(struct answer *a, const struct repeat *r, bool si)
{
	char text[FIGURE_SIZE];
	answer_table(a, "figures", NULL, figure_columns, COUNT(figure_columns));
	for (size_t i = 0; i < r->n; i++) {
		const struct repeat_figure *f = &r->figures[i];
		const bool bytes = measure_is_bytes(f->limit.measure);
		if (f->given || f->why)
			continue;
		answer_text(a, f->limit.subject);
		answer_text(a, show(text, bytes, f->least, si));
		answer_text(a, show(text, bytes, f->most, si));
		answer_text(a, bytes ? "bytes" : "count");
		answer_number(a, f->least);
		answer_number(a, f->median);
		answer_number(a, f->most);
		if (f->most == f->least)
			answer_nothing(a);
		else
			answer_real(a, (double)(f->most - f->least) / (double)f->most);
		suggest(text, f);
		answer_text(a, text);
	}
}

static const struct answer_column limit_columns[] = {
	{ "status", "", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "limit", "limit", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "held", "held", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "compared", "of", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "why", "", ANSWER_TEXT, ANSWER_EVERYWHERE },
};

static void write_limits(struct answer *a, const struct repeat *r)
{
	answer_table(a, "limits", "Limits", limit_columns, COUNT(limit_columns));
	for (size_t i = 0; i < r->n; i++) {
		const struct repeat_figure *f = &r->figures[i];
		if (!f->given)
			continue;
		answer_text(a, repeat_is_noisy(f) ? "noisy" : f->held ? "kept" : "exceeded");
		answer_text(a, f->limit.text);
		answer_number(a, f->held);
		answer_number(a, f->compared);
		answer_text(a, f->why);
	}
}

static const struct answer_column stack_columns[] = {
	{ "figure", "figure", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "least_shown", "least", ANSWER_TEXT, ANSWER_SCREEN },
	{ "most_shown", "most", ANSWER_TEXT, ANSWER_SCREEN },
	{ "least", "", ANSWER_COUNT, ANSWER_DATA },
	{ "most", "", ANSWER_COUNT, ANSWER_DATA },
	{ "runs", "runs", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "function", "function", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "place", "at", ANSWER_PLACE, ANSWER_SCREEN },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "module", "", ANSWER_TEXT, ANSWER_DATA },
	{ "caller", "called by", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "id", "stack", ANSWER_ID, ANSWER_EVERYWHERE },
};

static void write_text(struct answer *a, const char *text)
{
	if (text)
		answer_text(a, text);
	else
		answer_nothing(a);
}

static void write_row(struct answer *a, const struct row *row, size_t f, bool si)
{
	const struct origin *o = &row->stack->origin;
	const bool bytes = figure_is_bytes(stack_figures[f]);
	char text[FIGURE_SIZE], place[128];
	answer_text(a, figure_words[stack_figures[f]]);
	answer_text(a, show(text, bytes, row->least[f], si));
	answer_text(a, show(text, bytes, row->most[f], si));
	answer_number(a, row->least[f]);
	answer_number(a, row->most[f]);
	answer_number(a, row->runs);
	answer_text(a, o->function);
	snprintf(place, sizeof(place), "%s:%d", o->file ? o->file : "", o->line);
	write_text(a, o->file ? place : NULL);
	write_text(a, o->file);
	answer_number(a, (uint64_t)o->line);
	write_text(a, o->module);
	write_text(a, o->caller);
	answer_number(a, o->id);
}

/* The next stack of a figure: that which varies most, of those that vary less than the one before. */
static const struct row *next_row(const struct rows *rows, size_t f, const struct row *before)
{
	const struct row *best = NULL;
	for (const struct row *row = rows->items; row < rows->items + rows->n; row++) {
		const uint64_t spread = row->most[f] - row->least[f];
		const uint64_t last = before ? before->most[f] - before->least[f] : UINT64_MAX;
		if (spread && (spread < last || (spread == last && row > before)) &&
		    (!best || spread > best->most[f] - best->least[f]))
			best = row;
	}
	return best;
}

static void write_stacks(struct answer *a, const struct rows *rows, uint64_t top, bool si)
{
	uint64_t left_out = 0;
	answer_table(a, "stacks", "Stacks that vary", stack_columns, COUNT(stack_columns));
	for (size_t f = 0; f < COUNT(stack_figures); f++) {
		uint64_t all = 0, shown = 0;
		for (uint32_t i = 0; i < rows->n; i++)
			all += rows->items[i].most[f] != rows->items[i].least[f];
		for (const struct row *row = NULL; shown < top && (row = next_row(rows, f, row)); shown++)
			write_row(a, row, f, si);
		left_out += all - shown;
	}
	answer_left_out(a, left_out);
}

static void write_title(struct answer *a, const struct repeat *r)
{
	char title[120];
	snprintf(title, sizeof(title), "%u runs: %s", r->n_runs,
		 repeat_varies(r) ? "not all figures are repeatable" : "all figures are repeatable");
	answer_section(a, "repeat", NULL);
	answer_screen(a, title, 0);
	answer_fact_text(a, "command", NULL, r->runs[0].command);
	answer_fact(a, "runs", NULL, ANSWER_COUNT, r->n_runs);
	answer_fact(a, "varies", NULL, ANSWER_COUNT, repeat_varies(r));
}

bool repeat_answer(struct answer *a, const struct repeat *r, uint64_t top, bool si)
{
	struct rows rows = { 0 };
	const bool fine = hash_index_init(&rows.index) && collect(&rows, r);
	if (fine) {
		write_title(a, r);
		write_figures(a, r, si);
		write_limits(a, r);
		write_stacks(a, &rows, top, si);
	}
	hash_index_finish(&rows.index);
	free(rows.items);
	return fine && !answer_failed(a);
}
