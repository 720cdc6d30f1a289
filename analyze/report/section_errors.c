/* SPDX-License-Identifier: MIT */
/* Calls that are wrong, or that gave nothing, with the stacks of the call and of the block. */
#include <stdlib.h>

#include "array.h"
#include "report.h"

static const struct answer_column columns[] = {
	{ "error", "error", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "count", "count", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "first_ns", "first at", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "size", "bytes", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "call", "call", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "call_function", "called in", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "call_file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "call_line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "call_id", "", ANSWER_ID, ANSWER_DATA },
	{ "block", "block of", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "block_function", "allocated in", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "block_file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "block_line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "block_id", "", ANSWER_ID, ANSWER_DATA },
};

/* The call's name, and function, file, line and id of its stack; nothing where they are unknown. */
static void write_kind(struct report *r, uint32_t number)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	const struct mst_kind *kind = number == MST_NONE ? NULL : &kinds[number];
	const struct site *site =
		kind && kind->stack != MST_ROOT_STACK ? sites_of(r->sites, kind->stack) : NULL;
	answer_text(r->answer, kind && kind->op != MST_OP_UNKNOWN ? mst_op_name(kind->op) : NULL);
	if (!site || site->call == MST_NONE) {
		for (int i = 0; i < 4; i++)
			answer_nothing(r->answer);
		return;
	}
	const struct call *call = call_sites_at(r->calls, site->call);
	answer_text(r->answer, call->function);
	answer_text(r->answer, *call->file ? call->file : NULL);
	if (call->line)
		answer_number(r->answer, (uint64_t)call->line);
	else
		answer_nothing(r->answer);
	answer_number(r->answer, sites_id(r->sites, kind->stack));
}

static uint64_t size_of(const struct report *r, const struct mistake *m)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	return m->block != MST_NONE ? kinds[m->block].size : m->call != MST_NONE ? kinds[m->call].size : 0;
}

/* What is wrong comes first, by type; then the most frequent. */
static int compare(const void *a, const void *b)
{
	const struct mistake *x = a, *y = b;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->call != y->call ? (x->call > y->call) - (x->call < y->call)
				  : (x->block > y->block) - (x->block < y->block);
}

static void write_table(struct report *r, const struct mistake *mistakes, uint32_t n)
{
	const uint64_t top = report_top(r, 10);
	struct mistake *sorted = malloc((n + (size_t)1) * sizeof(*sorted));
	answer_table(r->answer, "errors", NULL, columns, sizeof(columns) / sizeof(*columns));
	r->no_memory |= !sorted;
	for (uint32_t i = 0; sorted && i < n; i++)
		sorted[i] = mistakes[i];
	if (sorted)
		array_sort(sorted, n, sizeof(*sorted), compare);
	for (uint32_t i = 0; sorted && i < n && i < top; i++) {
		answer_text(r->answer, mistake_names[sorted[i].type]);
		answer_number(r->answer, sorted[i].count);
		answer_number(r->answer, sorted[i].first_ns);
		answer_number(r->answer, size_of(r, &sorted[i]));
		write_kind(r, sorted[i].call);
		write_kind(r, sorted[i].block);
	}
	answer_left_out(r->answer, n > top ? n - top : 0);
	free(sorted);
}

/* A free whose stack isn't recorded. */
static bool is_stackless(const struct report *r, const struct mistake *m)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	return m->type <= MISTAKE_UNKNOWN && (m->call == MST_NONE || kinds[m->call].stack == MST_ROOT_STACK);
}

static void write_errors(struct report *r)
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	uint64_t counts[MISTAKE_TYPES] = { 0 };
	bool stackless = false;
	uint32_t n;
	const struct mistake *mistakes = mistakes_list(r->mistakes, &n);
	for (uint32_t i = 0; i < n; i++) {
		counts[mistakes[i].type] += mistakes[i].count;
		stackless |= is_stackless(r, &mistakes[i]);
	}
	answer_section(r->answer, "errors", "Calls that are wrong, or that gave nothing");
	answer_fact(r->answer, "mismatches", "freed by the wrong function", ANSWER_COUNT,
		    counts[MISTAKE_MISMATCH]);
	answer_fact(r->answer, "double_frees", "freed twice", ANSWER_COUNT, counts[MISTAKE_DOUBLE]);
	answer_fact(r->answer, "unknown_blocks", "freed, never allocated", ANSWER_COUNT,
		    counts[MISTAKE_UNKNOWN]);
	if (mistakes_before(r->mistakes))
		answer_fact(r->answer, "before", "freed, from before or while off", ANSWER_COUNT,
			    mistakes_before(r->mistakes));
	answer_fact(r->answer, "failed", "gave nothing", ANSWER_COUNT,
		    counts[MISTAKE_OVERFLOW] + counts[MISTAKE_INVALID] + counts[MISTAKE_FAILED]);
	answer_fact(r->answer, "zero_sized", "asked for no bytes", ANSWER_COUNT, counts[MISTAKE_ZERO]);
	write_table(r, mistakes, n);
	if (stackless)
		answer_note(r->answer, "Stacks of frees are known with msrec --free-stacks=yes.");
	if (!info->free_functions)
		answer_note(r->answer, "Which function freed a block is not recorded in this trace.");
}

const struct report_section section_errors = {
	.name = "errors",
	.help = "wrong frees, double frees, failed and empty requests",
	.needs = NEEDS_MISTAKES,
	.write = write_errors,
};
