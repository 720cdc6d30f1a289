/* SPDX-License-Identifier: MIT */
/* Functions, lines and libraries: what they allocated themselves, and with all that they called. */
#include <stdlib.h>

#include "array.h"
#include "callers.h"
#include "report.h"

/* clang-format off */
#define COLUMNS(title)                                                             \
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },                     \
	{ "self_bytes", "self", ANSWER_BYTES, ANSWER_EVERYWHERE },                 \
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },                     \
	{ "self_calls", "self", ANSWER_COUNT, ANSWER_EVERYWHERE },                 \
	{ "mean", "mean", ANSWER_BYTES, ANSWER_EVERYWHERE },                       \
	{ "least", "", ANSWER_BYTES, ANSWER_DATA },                                \
	{ "most", "", ANSWER_BYTES, ANSWER_DATA },                                 \
	{ "peak_bytes", "at the peak", ANSWER_BYTES, ANSWER_EVERYWHERE },          \
	{ "peak_share", "", ANSWER_SHARE, ANSWER_DATA },                           \
	{ "own_peak_bytes", "own peak", ANSWER_BYTES, ANSWER_EVERYWHERE },         \
	{ "recycling", "", ANSWER_COUNT, ANSWER_DATA },                            \
	{ "self_peak_bytes", "", ANSWER_BYTES, ANSWER_DATA },                      \
	{ "end_bytes", "at the end", ANSWER_BYTES, ANSWER_EVERYWHERE },            \
	{ "self_end_bytes", "", ANSWER_BYTES, ANSWER_DATA },                       \
	{ "life_calls_p50", "life", ANSWER_COUNT, ANSWER_EVERYWHERE },             \
	{ "life_calls_p99", "", ANSWER_COUNT, ANSWER_DATA },                       \
	{ "life_calls_max", "", ANSWER_COUNT, ANSWER_DATA },                       \
	{ "life_bytes_p50", "", ANSWER_BYTES, ANSWER_DATA },                       \
	{ "life_bytes_p99", "", ANSWER_BYTES, ANSWER_DATA },                       \
	{ "life_ns_p50", "", ANSWER_NS, ANSWER_DATA },                             \
	{ "life_ns_p99", "", ANSWER_NS, ANSWER_DATA },                             \
	{ "function", title, ANSWER_FUNCTION, ANSWER_EVERYWHERE },                 \
	{ "place", "at", ANSWER_PLACE, ANSWER_SCREEN },                            \
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },                                  \
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },                                 \
	{ "module", "", ANSWER_TEXT, ANSWER_DATA },                                \
	{ "via", "", ANSWER_TEXT, ANSWER_SCREEN },                                 \
	{ "id", "", ANSWER_ID, ANSWER_SCREEN }
/* clang-format on */

static const struct answer_column columns[] = { COLUMNS("function") };
static const struct answer_column library_columns[] = { COLUMNS("library") };

static int compare(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	if (x->self.bytes != y->self.bytes)
		return x->self.bytes > y->self.bytes ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static void write_caller(struct report *r, const struct caller *c, enum group_by by,
			 const struct report_totals *totals, const struct group_life *life,
			 const struct histogram_pages *pages)
{
	const uint64_t own = own_peaks_of(r->own_peaks[by], own_peaks_key(r->calls, c->call, c->module, by));
	answer_number(r->answer, c->all.bytes);
	answer_number(r->answer, c->self.bytes);
	answer_number(r->answer, c->all.calls);
	answer_number(r->answer, c->self.calls);
	answer_number(r->answer, c->all.calls ? c->all.bytes / c->all.calls : 0);
	answer_number(r->answer, c->all.least);
	answer_number(r->answer, c->all.most);
	answer_number(r->answer, c->all.then_bytes);
	answer_real(r->answer, report_share(c->all.then_bytes, totals->then_bytes));
	answer_number(r->answer, own);
	answer_real(r->answer, report_share(c->all.bytes, own));
	answer_number(r->answer, c->self.then_bytes);
	answer_number(r->answer, c->all.end_bytes);
	answer_number(r->answer, c->self.end_bytes);
	group_life_write(r->answer, life, pages);
	report_name_call(r, c->call, c->module, by);
}

static void write_callers(struct report *r, const char *key, const char *title, enum group_by by)
{
	const struct report_totals totals = report_totals(r, r->profile);
	const uint64_t top = report_top(r, 15);
	struct groups stacks;
	struct callers callers = { 0 };
	struct group_lives lives = { 0 };
	answer_section(r->answer, key, title);
	answer_table(r->answer, key, NULL, by == BY_LIBRARY ? library_columns : columns,
		     sizeof(columns) / sizeof(*columns));
	if (report_groups(r, r->profile, &stacks, BY_NODE, ORDER_BYTES)) {
		if (!callers_collect(&callers, r->reader, r->calls, &stacks, by))
			r->no_memory = true;
		else
			array_sort(callers.items, callers.n, sizeof(*callers.items), compare);
		const uint32_t n = callers.n < top ? callers.n : (uint32_t)top;
		if (!r->no_memory && report_knows_lives(r))
			r->no_memory |= !callers_lives(&callers, n, r, by, &lives);
		for (uint32_t i = 0; i < n && !r->no_memory; i++)
			write_caller(r, &callers.items[i], by, &totals, lives.items ? &lives.items[i] : NULL,
				     &lives.pages);
		answer_left_out(r->answer, callers.n > top ? callers.n - top : 0);
		report_note_wanted_lives(r, "Lifetimes are", key);
	}
	group_lives_finish(&lives);
	callers_finish(&callers);
	groups_finish(&stacks);
}

static void write_functions(struct report *r)
{
	write_callers(r, "functions", "Functions, with all that they called", BY_FUNCTION);
}

static void write_lines(struct report *r)
{
	write_callers(r, "lines", "Lines, with all that they called", BY_SITE);
}

static void write_libraries(struct report *r)
{
	write_callers(r, "libraries", "Libraries, with all that they called", BY_LIBRARY);
}

const struct report_section section_functions = {
	.name = "functions",
	.help = "what each function allocated, itself and with all that it called",
	.needs = NEEDS_FUNCTIONS | WANTS_LIVES | NEEDS_HISTOGRAMS,
	.write = write_functions,
};

const struct report_section section_lines = {
	.name = "lines",
	.help = "the same of lines",
	.needs = NEEDS_LINES | WANTS_LIVES | NEEDS_HISTOGRAMS,
	.write = write_lines,
};

const struct report_section section_libraries = {
	.name = "libraries",
	.help = "the same of programs and libraries",
	.needs = NEEDS_LIBRARIES | WANTS_LIVES | NEEDS_HISTOGRAMS,
	.write = write_libraries,
};
