/* SPDX-License-Identifier: MIT */
/* A check for people: sentences, and the sections of an answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "gate.h"

/* Of more rows a screen has those alone that are not within their limits. */
enum { MOST_SHOWN = 20 };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static char *show(char text[FIGURE_SIZE], const struct gate_row *row, uint64_t n, bool si)
{
	return measure_is_bytes(row->limit->measure) ? figure_bytes(text, n, si) : thousands(text, n);
}

/* Three digits may hide what is wrong: 24.0 MiB exceeds 24.0 MiB. Then all digits are shown. */
static void show_pair(char first[FIGURE_SIZE], char second[FIGURE_SIZE], const struct gate_row *row, bool si)
{
	show(first, row, row->value, si);
	show(second, row, row->bound, si);
	if (strcmp(first, second) == 0 && row->value != row->bound) {
		thousands(first, row->value);
		thousands(second, row->bound);
	}
}

char *gate_describe(const struct gate_row *row, bool si)
{
	static const char *const wrong[] = {
		[LIMIT_AT_MOST] = "more than",  [LIMIT_LESS] = "not less than", [LIMIT_EQUAL] = "not",
		[LIMIT_MORE] = "not more than", [LIMIT_AT_LEAST] = "less than",
	};
	char value[FIGURE_SIZE], bound[FIGURE_SIZE], base[FIGURE_SIZE], *text;
	const struct limit *limit = row->limit;
	int n;
	show_pair(value, bound, row, si);
	if (row->status == GATE_UNVERIFIED)
		n = asprintf(&text, "%s cannot be verified: %s", limit->text, row->why);
	else if (row->status == GATE_WITHIN)
		n = asprintf(&text, "%s is %s", limit->subject, value);
	else if (row->has_base)
		n = asprintf(&text, "%s is %s, %s %s: it was %s (%s)", limit->subject, value,
			     wrong[limit->op], bound, show(base, row, row->base, si), limit->text);
	else
		n = asprintf(&text, "%s is %s, %s %s (%s)", limit->subject, value, wrong[limit->op], bound,
			     limit->text);
	return n < 0 ? NULL : text;
}

char *gate_describe_blame(const struct gate_row *row, const struct gate_blame *b, bool si)
{
	char size[FIGURE_SIZE], place[64] = "", *text;
	const struct origin *o = &b->origin;
	show(size, row, b->compared ? b->value - b->before : b->value, si);
	if (o->file && o->line)
		snprintf(place, sizeof(place), "%.48s:%d", base_name(o->file), o->line);
	const int n = asprintf(&text, "%s%s at %s%s%s%s%s%s%s", b->compared ? "+" : "", size, o->function,
			       *place || o->caller ? " (" : "", place, *place && o->caller ? ", " : "",
			       o->caller ? "called by " : "", o->caller ? o->caller : "",
			       *place || o->caller ? ")" : "");
	return n < 0 ? NULL : text;
}

/* ---- Tables ---- */

static const struct answer_column limit_columns[] = {
	{ "status", "", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "limit", "limit", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "subject", "", ANSWER_TEXT, ANSWER_DATA },
	{ "is", "is", ANSWER_TEXT, ANSWER_SCREEN },
	{ "may", "bound", ANSWER_TEXT, ANSWER_SCREEN },
	{ "was", "was", ANSWER_TEXT, ANSWER_SCREEN },
	{ "unit", "", ANSWER_TEXT, ANSWER_DATA },
	{ "value", "", ANSWER_COUNT, ANSWER_DATA },
	{ "bound", "", ANSWER_COUNT, ANSWER_DATA },
	{ "base", "", ANSWER_COUNT, ANSWER_DATA },
	{ "why", "", ANSWER_TEXT, ANSWER_DATA },
	{ "run", "run", ANSWER_TAIL, ANSWER_EVERYWHERE },
	{ "trace", "", ANSWER_TEXT, ANSWER_DATA },
};

static void write_number(struct answer *a, bool known, uint64_t number)
{
	if (known)
		answer_number(a, number);
	else
		answer_nothing(a);
}

static void write_row(struct answer *a, const struct gate *c, const struct gate_row *row, bool si)
{
	char value[FIGURE_SIZE], bound[FIGURE_SIZE], base[FIGURE_SIZE];
	const bool judged = row->status != GATE_UNVERIFIED;
	show_pair(value, bound, row, si);
	answer_text(a, gate_names[row->status]);
	answer_text(a, row->limit->text);
	answer_text(a, row->limit->subject);
	answer_text(a, row->has_value ? value : NULL);
	answer_text(a, judged ? bound : NULL);
	answer_text(a, row->has_base ? show(base, row, row->base, si) : NULL);
	answer_text(a, measure_is_bytes(row->limit->measure) ? "bytes" : "count");
	write_number(a, row->has_value, row->value);
	write_number(a, judged, row->bound);
	write_number(a, row->has_base, row->base);
	answer_text(a, row->why);
	answer_text(a, gate_run_of(c, row)->name);
	answer_text(a, gate_run_of(c, row)->trace);
}

static const struct answer_column blame_columns[] = {
	{ "limit", "limit", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "grew", "by", ANSWER_TEXT, ANSWER_SCREEN },
	{ "value", "", ANSWER_COUNT, ANSWER_DATA },
	{ "before", "", ANSWER_COUNT, ANSWER_DATA },
	{ "function", "function", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "place", "at", ANSWER_PLACE, ANSWER_SCREEN },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "module", "", ANSWER_TEXT, ANSWER_DATA },
	{ "caller", "called by", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "run", "", ANSWER_TEXT, ANSWER_DATA },
	{ "id", "stack", ANSWER_ID, ANSWER_EVERYWHERE },
};

/* False: no memory. */
static bool write_blame(struct answer *a, const struct gate *c, const struct gate_row *row,
			const struct gate_blame *b, bool si)
{
	const struct origin *o = &b->origin;
	char size[FIGURE_SIZE], grew[FIGURE_SIZE + 1], *place = NULL;
	show(size, row, b->compared ? b->value - b->before : b->value, si);
	snprintf(grew, sizeof(grew), "%s%s", b->compared ? "+" : "", size);
	if (o->file && asprintf(&place, "%s:%d", o->file, o->line) < 0)
		return false;
	answer_text(a, row->limit->subject);
	answer_text(a, grew);
	answer_number(a, b->value);
	write_number(a, b->compared, b->before);
	answer_text(a, o->function);
	answer_text(a, place);
	answer_text(a, o->file);
	write_number(a, o->line > 0, (uint64_t)o->line);
	answer_text(a, o->module);
	answer_text(a, o->caller);
	answer_text(a, gate_run_of(c, row)->name);
	write_number(a, o->id, o->id);
	free(place);
	return true;
}

/* "2 of 600 limits exceeded in 1 of 200 runs" */
static void write_title(struct answer *a, const struct gate *c)
{
	char title[200], runs[80] = "";
	const size_t bad = c->counts[GATE_EXCEEDED], blind = c->counts[GATE_UNVERIFIED];
	size_t fine = 0;
	for (size_t i = 0; i < c->n_runs; i++)
		fine += gate_run_status(&c->runs[i]) == GATE_WITHIN;
	if (c->n_runs > 1 && fine == c->n_runs)
		snprintf(runs, sizeof(runs), " by %zu runs", c->n_runs);
	else if (c->n_runs > 1)
		snprintf(runs, sizeof(runs), ", in %zu of %zu runs", c->n_runs - fine, c->n_runs);
	if (bad == 0 && blind == 0)
		snprintf(title, sizeof(title), c->n == 1 ? "The limit is kept" : "All %zu limits are kept",
			 c->n);
	else if (blind == 0)
		snprintf(title, sizeof(title), "%zu of %zu limits exceeded", bad, c->n);
	else if (bad == 0)
		snprintf(title, sizeof(title), "%zu of %zu limits cannot be verified", blind, c->n);
	else
		snprintf(title, sizeof(title), "%zu of %zu limits exceeded, %zu cannot be verified", bad,
			 c->n, blind);
	strcat(title, runs);
	answer_section(a, "check", NULL);
	answer_screen(a, title, 0);
	answer_fact(a, "within", NULL, ANSWER_COUNT, c->counts[GATE_WITHIN]);
	answer_fact(a, "exceeded", NULL, ANSWER_COUNT, bad);
	answer_fact(a, "unverified", NULL, ANSWER_COUNT, blind);
}

static const struct answer_column run_columns[] = {
	{ "status", "", ANSWER_TEXT, ANSWER_DATA },    { "run", "", ANSWER_TEXT, ANSWER_DATA },
	{ "duration_ns", "", ANSWER_NS, ANSWER_DATA }, { "within", "", ANSWER_COUNT, ANSWER_DATA },
	{ "exceeded", "", ANSWER_COUNT, ANSWER_DATA }, { "unverified", "", ANSWER_COUNT, ANSWER_DATA },
	{ "trace", "", ANSWER_TEXT, ANSWER_DATA },
};

/* One row a recording, for programs. */
static void write_runs(struct answer *a, const struct gate *c)
{
	answer_table(a, "runs", NULL, run_columns, COUNT(run_columns));
	for (size_t i = 0; i < c->n_runs; i++) {
		const struct gate_run *run = &c->runs[i];
		answer_text(a, gate_names[gate_run_status(run)]);
		answer_text(a, run->name);
		answer_number(a, run->duration_ns);
		answer_number(a, run->counts[GATE_WITHIN]);
		answer_number(a, run->counts[GATE_EXCEEDED]);
		answer_number(a, run->counts[GATE_UNVERIFIED]);
		answer_text(a, run->trace);
	}
}

/* What stands in the way of a verdict, once for each reason. */
static void write_notes(struct answer *a, const struct gate *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct gate_row *row = &c->rows[i];
		bool said = row->status != GATE_UNVERIFIED;
		for (size_t k = 0; k < i && !said; k++)
			said = c->rows[k].why == row->why;
		if (!said)
			answer_note(a, "%s of %s cannot be verified: %s.", row->limit->text,
				    gate_run_of(c, row)->name, row->why);
	}
}

bool gate_answer(struct answer *a, const struct gate *c, bool si)
{
	static const enum gate_status order[] = { GATE_EXCEEDED, GATE_UNVERIFIED, GATE_WITHIN };
	write_title(a, c);
	answer_table(a, "limits", NULL, limit_columns, COUNT(limit_columns));
	for (size_t k = 0; k < COUNT(order); k++) {
		for (size_t i = 0; i < c->n; i++) {
			if (c->rows[i].status == order[k])
				write_row(a, c, &c->rows[i], si);
		}
	}
	if (c->n > MOST_SHOWN)
		answer_hide_rows(a, c->counts[GATE_WITHIN]);
	answer_table(a, "blame", "To blame", blame_columns, COUNT(blame_columns));
	for (size_t i = 0; i < c->n; i++) {
		for (unsigned k = 0; k < c->rows[i].n_blame; k++) {
			if (!write_blame(a, c, &c->rows[i], &c->rows[i].blame[k], si))
				return false;
		}
	}
	write_runs(a, c);
	write_notes(a, c);
	return !answer_failed(a);
}
