/* SPDX-License-Identifier: MIT */
/* What each request, task, thread or part of the run allocates, and what it leaves behind. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "figures.h"
#include "report.h"
#include "short_name.h"

enum { TOP = 5, TOP_OF_PAGE = 50, TOP_MOST = 1000 };

static const struct span_query marked = { .kind = SPANS_MARKED, .pattern = "*" };

static const struct answer_column spread_columns[] = {
	{ "quantile", "in a span", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "peak_bytes", "peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "within_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "later_bytes", "freed later", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "after_bytes", "outside", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "left_bytes", "left", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "time_ns", "time", ANSWER_NS, ANSWER_EVERYWHERE },
};

static const struct answer_column fate_columns[] = {
	{ "fate", "", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "spans", "of spans", ANSWER_COUNT, ANSWER_EVERYWHERE },
};

static const struct answer_column span_columns[] = {
	{ "number", "", ANSWER_COUNT, ANSWER_DATA },
	{ "begin_ns", "begins", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "tid", "thread", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "thread_name", "", ANSWER_TEXT, ANSWER_DATA },
	{ "name", "", ANSWER_FUNCTION, ANSWER_DATA },
	{ "calls", "", ANSWER_COUNT, ANSWER_DATA },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "peak_bytes", "peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "within_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "later_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "after_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "left_bytes", "left", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "time_ns", "time", ANSWER_NS, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column site_columns[] = {
	{ "left_bytes", "left", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "left_blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "later_bytes", "freed later", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "later_blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "after_bytes", "outside", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "after_blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "within_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "within_blocks", "", ANSWER_COUNT, ANSWER_DATA },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column name_columns[] = {
	{ "name", "name", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "spans", "spans", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "later_bytes", "freed later", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "left_bytes", "left", ANSWER_BYTES, ANSWER_EVERYWHERE },
};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

static const struct span_query *query_of(const struct report *r)
{
	return r->query->span.text ? &r->query->span : &marked;
}

static struct observer *plan(struct report *r)
{
	const struct span_query *q = query_of(r);
	const uint64_t top = report_top(r, r->page ? TOP_OF_PAGE : TOP);
	if (r->once)
		return NULL;
	if (q->kind == SPANS_CALLS)
		r->span_calls = span_calls_create(r->reader, r->calls, q->pattern);
	if (q->kind != SPANS_CALLS || r->span_calls)
		r->spans =
			spans_create(q, r->span_calls, top < TOP_MOST ? (uint32_t)top : TOP_MOST, r->end_ns);
	r->no_memory |= !r->spans;
	return r->spans ? spans_observer(r->spans) : NULL;
}

/* ---- Facts ---- */

static void write_question(struct report *r, const struct span_query *q)
{
	char period[FIGURE_SIZE], *text = NULL;
	int n = 0;
	switch (q->kind) {
	case SPANS_MARKED:
		n = asprintf(&text, "marked by the program%s%s", q->text ? ": " : "",
			     q->text ? q->pattern : "");
		break;
	case SPANS_CALLS:
		n = asprintf(&text, "calls of %s", q->pattern);
		break;
	case SPANS_THREADS:
		n = asprintf(&text, "threads");
		break;
	case SPANS_WINDOWS:
		n = asprintf(&text, "each %s", figure_time(period, q->period_ns));
		break;
	}
	if (n < 0) {
		r->no_memory = true;
		return;
	}
	answer_fact_text(r->answer, "what", "spans", text);
	free(text);
}

/* "12,345 calls, 3.4 MiB; 2.1 MiB left at the end". `left`: NULL: that isn't said. */
static void write_sum(struct report *r, const char *key, const char *title, struct span_sum sum,
		      const struct span_sum *left)
{
	char text[3 * FIGURE_SIZE + 40], calls[FIGURE_SIZE], bytes[FIGURE_SIZE], left_bytes[FIGURE_SIZE];
	snprintf(text, sizeof(text), "%s calls, %s%s%s%s", thousands(calls, sum.blocks),
		 figure_bytes(bytes, sum.bytes, r->query->si), left ? "; " : "",
		 left ? figure_bytes(left_bytes, left->bytes, r->query->si) : "",
		 left ? " left at the end" : "");
	answer_fact_text(r->answer, key, title, text);
}

/* Windows in which nothing was called: they are no spans. */
static uint64_t count_empty(const struct report *r, const struct span_query *q, uint64_t spans)
{
	const uint64_t windows = r->end_ns / q->period_ns - r->begin_ns / q->period_ns + 1;
	return windows > spans ? windows - spans : 0;
}

static void write_facts(struct report *r, const struct span_query *q)
{
	const struct span_sum outside = spans_outside(r->spans), left = spans_outside_left(r->spans);
	const struct span_doubts doubts = spans_doubts(r->spans);
	const uint64_t spans = spans_spread(r->spans, SPAN_BYTES)->n;
	const struct span_sum inside = { .bytes = spans_spread(r->spans, SPAN_BYTES)->sum,
					 .blocks = spans_spread(r->spans, SPAN_CALLS)->sum };
	answer_fact(r->answer, "spans", "their number", ANSWER_COUNT, spans);
	write_sum(r, "inside", "in them", inside, NULL);
	answer_fact(r->answer, "calls", NULL, ANSWER_COUNT, inside.blocks);
	answer_fact(r->answer, "bytes", NULL, ANSWER_BYTES, inside.bytes);
	if (q->kind != SPANS_WINDOWS && q->kind != SPANS_THREADS)
		write_sum(r, "outside", "outside", outside, spans_lack_identity(r->spans) ? NULL : &left);
	answer_fact(r->answer, "outside_calls", NULL, ANSWER_COUNT, outside.blocks);
	answer_fact(r->answer, "outside_bytes", NULL, ANSWER_BYTES, outside.bytes);
	if (!spans_lack_identity(r->spans))
		answer_fact(r->answer, "outside_left_bytes", NULL, ANSWER_BYTES, left.bytes);
	if (q->kind == SPANS_CALLS && !q->each) {
		answer_fact(r->answer, "repeated", NULL, ANSWER_COUNT, doubts.repeated);
		answer_fact(r->answer, "repeats", NULL, ANSWER_COUNT, doubts.repeats);
	}
	if (q->kind == SPANS_MARKED) {
		answer_fact(r->answer, "no_begin", NULL, ANSWER_COUNT, doubts.no_begin);
		answer_fact(r->answer, "no_end", NULL, ANSWER_COUNT, doubts.no_end);
	}
	if (q->kind == SPANS_WINDOWS)
		answer_fact(r->answer, "empty", NULL, ANSWER_COUNT, count_empty(r, q, spans));
}

/* ---- Tables ---- */

/* In the order of spread_columns. */
static const enum span_figure order[] = { SPAN_CALLS,
					  SPAN_BYTES,
					  SPAN_PEAK,
					  SPAN_FATE + SPAN_WITHIN,
					  SPAN_FATE + SPAN_LATER,
					  SPAN_FATE + SPAN_AFTER,
					  SPAN_FATE + SPAN_LEFT,
					  SPAN_TIME };

/* Windows have no time of their own; without identity nothing is known of blocks. */
static bool is_known(struct report *r, enum span_figure figure)
{
	if (figure == SPAN_TIME)
		return query_of(r)->kind != SPANS_WINDOWS;
	return figure <= SPAN_BYTES || !spans_lack_identity(r->spans);
}

static void write_figure(struct report *r, enum span_figure figure, uint64_t number)
{
	if (is_known(r, figure))
		answer_number(r->answer, number);
	else
		answer_nothing(r->answer);
}

static void write_spread(struct report *r)
{
	static const struct {
		const char *name;
		double share; /* 0: the mean */
	} rows[] = { { "p50", .5 }, { "p90", .9 }, { "p99", .99 }, { "most", 1 }, { "mean", 0 } };
	answer_table(r->answer, "distribution", NULL, COLUMNS(spread_columns));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		answer_text(r->answer, rows[i].name);
		for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++) {
			struct spread *s = spans_spread(r->spans, order[k]);
			const double share = rows[i].share;
			write_figure(r, order[k],
				     share == 0  ? s->sum / s->n
				     : share < 1 ? spread_quantile(s, share)
						 : s->most);
		}
	}
}

static void write_fates(struct report *r)
{
	static const char *const names[SPAN_FATES] = {
		[SPAN_WITHIN] = "freed within the span",
		[SPAN_LATER] = "freed later, in another span",
		[SPAN_AFTER] = "freed later, outside of spans",
		[SPAN_LEFT] = "left at the end",
	};
	const uint64_t all = spans_spread(r->spans, SPAN_BYTES)->sum;
	answer_table(r->answer, "fates", "What became of their blocks", COLUMNS(fate_columns));
	for (unsigned f = 0; f < SPAN_FATES; f++) {
		uint64_t with;
		const struct span_sum sum = spans_fate(r->spans, (enum span_fate)f, &with);
		answer_text(r->answer, names[f]);
		answer_number(r->answer, sum.bytes);
		answer_real(r->answer, report_share(sum.bytes, all));
		answer_number(r->answer, sum.blocks);
		answer_number(r->answer, with);
	}
}

static void write_thread(struct report *r, uint32_t number)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(r->reader, &n);
	char text[16];
	if (number >= n) {
		answer_nothing(r->answer);
		answer_nothing(r->answer);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu32, threads[number].tid);
	answer_text(r->answer, text);
	answer_text(r->answer, threads[number].name && *threads[number].name ? threads[number].name : NULL);
}

/* The columns of a group. Of a trace that grows, the second pass may have seen stacks that the first one had not. */
static void name_stack(struct report *r, uint32_t stack)
{
	uint32_t n;
	mst_reader_stacks(r->reader, &n);
	report_name_group(r, &(struct group){ .stack = stack < n ? stack : MST_ROOT_STACK }, BY_STACK);
}

static void write_largest(struct report *r, enum span_figure figure, const char *key, const char *title)
{
	const uint64_t top = report_top(r, TOP);
	uint32_t n, n_names;
	uint64_t all;
	const struct span_row *rows = spans_largest(r->spans, figure, &n, &all);
	const struct span_name *names = spans_names(r->spans, &n_names);
	if (n == 0)
		return;
	answer_table(r->answer, key, title, COLUMNS(span_columns));
	n = n < top ? n : (uint32_t)top;
	for (uint32_t i = 0; i < n; i++) {
		answer_number(r->answer, rows[i].number);
		answer_number(r->answer, rows[i].begin_ns);
		write_thread(r, rows[i].thread);
		answer_text(r->answer, rows[i].name < n_names ? names[rows[i].name].text : NULL);
		for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
			write_figure(r, order[k], rows[i].figures[order[k]]);
		name_stack(r, rows[i].stack);
	}
	answer_left_out(r->answer, all - n);
}

/* ---- Names ---- */

static int compare_names(const void *a, const void *b)
{
	const struct span_name *const *x = a, *const *y = b;
	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes > (*y)->bytes ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* Where spans have several names. */
static void write_names(struct report *r)
{
	uint32_t n, with = 0;
	const uint64_t top = report_top(r, 10);
	const struct span_name *names = spans_names(r->spans, &n);
	const struct span_name **sorted = malloc((n + (size_t)1) * sizeof(*sorted));
	r->no_memory |= !sorted;
	for (uint32_t i = 0; sorted && i < n; i++) {
		if (names[i].spans)
			sorted[with++] = &names[i];
	}
	if (with > 1) {
		array_sort(sorted, with, sizeof(*sorted), compare_names);
		answer_table(r->answer, "names", "By name", COLUMNS(name_columns));
		for (uint32_t i = 0; i < with && i < top; i++) {
			answer_text(r->answer, sorted[i]->text);
			answer_number(r->answer, sorted[i]->spans);
			answer_number(r->answer, sorted[i]->calls);
			answer_number(r->answer, sorted[i]->bytes);
			write_figure(r, SPAN_FATE + SPAN_LATER, sorted[i]->later_bytes);
			write_figure(r, SPAN_FATE + SPAN_LEFT, sorted[i]->left_bytes);
		}
		answer_left_out(r->answer, with > top ? with - top : 0);
	}
	free(sorted);
}

/* ---- Sites ---- */

/* What outlived its span, of one group. */
struct outliving {
	struct span_stack sums;
	uint64_t bytes;
	uint32_t group;
};

static int compare_outliving(const void *a, const void *b)
{
	const struct outliving *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* By group; NULL: no memory. */
static struct outliving *add_up(struct report *r, const struct groups *groups)
{
	uint32_t n_stacks;
	struct outliving *sums = calloc(groups->n + (size_t)1, sizeof(*sums));
	uint32_t *group_of = groups_of_stacks(groups, r->reader, r->sites, groups->n, &n_stacks);
	for (uint32_t i = 0; sums && group_of && i < n_stacks; i++) {
		const struct span_stack stack = spans_stack(r->spans, i);
		if (group_of[i] == MST_NONE)
			continue;
		struct outliving *to = &sums[group_of[i]];
		for (unsigned f = 0; f < SPAN_FATES; f++) {
			to->sums.fates[f].bytes += stack.fates[f].bytes;
			to->sums.fates[f].blocks += stack.fates[f].blocks;
			to->bytes += f == SPAN_WITHIN ? 0 : stack.fates[f].bytes;
		}
	}
	for (uint32_t i = 0; sums && i < groups->n; i++)
		sums[i].group = i;
	if (!group_of) {
		free(sums);
		sums = NULL;
	}
	free(group_of);
	return sums;
}

static void write_sites(struct report *r)
{
	static const enum span_fate shown[] = { SPAN_LEFT, SPAN_LATER, SPAN_AFTER, SPAN_WITHIN };
	const enum group_by by =
		r->query->by_given && groups_have_stacks(r->query->by) ? r->query->by : BY_SITE;
	const uint64_t top = report_top(r, 10);
	struct groups groups;
	struct outliving *sums = NULL;
	uint32_t n = 0;
	if (report_groups(r, r->profile, &groups, by, ORDER_BYTES)) {
		sums = add_up(r, &groups);
		r->no_memory |= !sums;
	}
	if (sums)
		array_sort(sums, groups.n, sizeof(*sums), compare_outliving);
	while (sums && n < groups.n && sums[n].bytes)
		n++;
	if (n)
		answer_table(r->answer, "sites", "What outlives its span, by site", COLUMNS(site_columns));
	for (uint32_t i = 0; i < n && i < top; i++) {
		for (size_t k = 0; k < sizeof(shown) / sizeof(*shown); k++) {
			answer_number(r->answer, sums[i].sums.fates[shown[k]].bytes);
			answer_number(r->answer, sums[i].sums.fates[shown[k]].blocks);
		}
		report_name_group(r, &groups.items[sums[i].group], by);
	}
	if (n > top)
		answer_left_out(r->answer, n - top);
	free(sums);
	groups_finish(&groups);
}

/* ---- Notes ---- */

/* Names have the class, and in C++ the parameters: says what a pattern without them may have meant. */
static void note_no_function(struct report *r, const char *pattern)
{
	enum { SHOWN = 3 };
	const struct call_sites *calls = sites_calls(r->sites);
	const char *names[SHOWN];
	char shown[SHOWN * (SENTENCE_NAME_SIZE + 2)] = "", name[SENTENCE_NAME_SIZE];
	uint32_t n = 0;
	size_t end = 0;
	for (uint32_t i = 0; i < call_sites_count(calls) && n < SHOWN; i++) {
		const struct call *call = call_sites_at(calls, i);
		bool said = !call->named || !strstr(call->function, pattern);
		for (uint32_t k = 0; k < n && !said; k++)
			said = strcmp(names[k], call->function) == 0;
		if (said)
			continue;
		end += (size_t)snprintf(shown + end, sizeof(shown) - end, "%s%s", n ? ", " : "",
					short_name_in_sentence(name, call->function));
		names[n++] = call->function;
	}
	answer_note(r->answer, "No stack has a function that matches %s.%s%s%s", pattern,
		    n ? " Names that have it: " : "", shown, n ? "." : "");
}

static void note_nothing(struct report *r, const struct span_query *q)
{
	if (q->kind == SPANS_CALLS)
		note_no_function(r, q->pattern);
	else if (q->kind == SPANS_MARKED)
		answer_note(
			r->answer,
			"No span is marked (msrec_span_begin() of msrec.h)%s. --span='handle_*' takes the "
			"calls of a function, --span=thread the threads, --span=every:1s parts of the run.",
			q->text ? " whose name matches" : "");
}

static void note_doubts(struct report *r, const struct span_query *q)
{
	const struct span_doubts doubts = spans_doubts(r->spans);
	const uint64_t spans = spans_spread(r->spans, SPAN_BYTES)->n;
	char some[FIGURE_SIZE], most[FIGURE_SIZE];
	if (q->kind == SPANS_CALLS && !q->each && doubts.repeated)
		answer_note(
			r->answer,
			"In %s of them the stack of the first call comes again: these may be several calls of "
			"the function in a row, up to %s in all. --span='each:%s' takes them for such.",
			thousands(some, doubts.repeated), thousands(most, spans + doubts.repeats),
			q->pattern);
	if (doubts.no_begin)
		answer_note(r->answer, "%s end%s of spans without a beginning in the same thread%s left out.",
			    thousands(some, doubts.no_begin), doubts.no_begin == 1 ? "" : "s",
			    doubts.no_begin == 1 ? " was" : " were");
	if (doubts.no_end)
		answer_note(r->answer, "%s of them %s no end, and last%s until that of the trace.",
			    thousands(some, doubts.no_end), doubts.no_end == 1 ? "has" : "have",
			    doubts.no_end == 1 ? "s" : "");
}

static void note_limits(struct report *r)
{
	char exact[FIGURE_SIZE];
	if (spans_lack_identity(r->spans))
		answer_note(
			r->answer,
			"Which block each free gives back is not recorded (msrec --identity=yes), so what "
			"becomes of blocks is not known.");
	if (mst_reader_info(r->reader)->sample_bytes)
		answer_note(r->answer, "Figures of single spans are rough, and calls that were not sampled "
				       "are in none.");
	if (!spread_is_exact(spans_spread(r->spans, SPAN_BYTES)))
		answer_note(
			r->answer,
			"Of more than %s spans, p50, p90 and p99 are rounded down to a class of which four "
			"double the value.",
			thousands(exact, SPREAD_EXACT));
}

static void write_spans(struct report *r)
{
	const struct span_query *q = query_of(r);
	answer_section(r->answer, "spans", "Spans");
	write_question(r, q);
	if (!r->spans) {
		answer_note(r->answer, "Spans need a trace that can be read twice: a file.");
		return;
	}
	write_facts(r, q);
	if (spans_spread(r->spans, SPAN_BYTES)->n == 0) {
		note_nothing(r, q);
	} else {
		write_spread(r);
		if (!spans_lack_identity(r->spans))
			write_fates(r);
		write_largest(r, SPAN_BYTES, "largest", "With the most bytes");
		if (!spans_lack_identity(r->spans)) {
			write_largest(r, SPAN_PEAK, "highest", "With the highest peaks");
			write_largest(r, SPAN_FATE + SPAN_LEFT, "leaving", "That left most");
			write_sites(r);
		}
		write_names(r);
	}
	note_doubts(r, q);
	note_limits(r);
}

const struct report_section section_spans = {
	.name = "spans",
	.help = "what each request, call, thread or second allocates and leaves",
	.plan = plan,
	.write = write_spans,
};
