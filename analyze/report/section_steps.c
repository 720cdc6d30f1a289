/* SPDX-License-Identifier: MIT */
/* When the live bytes jumped, which stacks and threads made them jump, and whether they came back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "report.h"
#include "steps.h"
#include "thread_count.h"
#include "trends.h"

static const struct answer_column columns[] = {
	{ "step", "step", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "from_ns", "from", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "until_ns", "until", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_SIGNED, ANSWER_EVERYWHERE },
	{ "back_ns", "back at", ANSWER_NS, ANSWER_EVERYWHERE },
};

static const struct answer_column maker_columns[] = {
	{ "step", "step", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_SIGNED, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static uint64_t begins(const struct report *r, uint32_t bucket)
{
	const uint64_t ns = timeline_begins_ns(r->timeline, bucket);
	return ns < r->end_ns ? ns : r->end_ns;
}

static void write_list(struct report *r, const struct step *steps, uint32_t n)
{
	answer_table(r->answer, "steps", NULL, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < n; i++) {
		answer_number(r->answer, i + 1);
		answer_number(r->answer, begins(r, steps[i].first));
		answer_number(r->answer, begins(r, steps[i].last + 1));
		answer_number(r->answer, (uint64_t)steps[i].change);
		if (steps[i].back != UINT32_MAX)
			answer_number(r->answer, begins(r, steps[i].back + 1));
		else
			answer_nothing(r->answer);
	}
}

struct maker {
	int64_t change;
	uint32_t group;
};

static int compare(const void *a, const void *b)
{
	const struct maker *x = a, *y = b;
	const int64_t p = llabs(x->change), q = llabs(y->change);
	if (p != q)
		return p > q ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* The groups that changed most in the step, in its direction. */
static void write_makers(struct report *r, const struct step *step, uint32_t number,
			 const struct trends *trends, struct maker *makers, enum group_by by)
{
	const uint64_t top = report_top(r, 2);
	uint32_t n = 0;
	for (uint32_t i = 0; i < trends->n; i++) {
		const int64_t *series = trends_series(trends, i);
		const int64_t change = series[step->last] - (step->first ? series[step->first - 1] : 0);
		if (change != 0 && (change > 0) == (step->change > 0))
			makers[n++] = (struct maker){ change, i };
	}
	array_sort(makers, n, sizeof(*makers), compare);
	for (uint32_t i = 0; i < n && i < top; i++) {
		answer_number(r->answer, number);
		answer_number(r->answer, (uint64_t)makers[i].change);
		report_name_group(r, &trends->groups[makers[i].group], by);
	}
}

static void write_all_makers(struct report *r, const struct step *steps, uint32_t n, enum group_by by)
{
	struct groups groups;
	struct trends trends = { 0 };
	answer_table(r->answer, "made_by", "Made by", maker_columns,
		     sizeof(maker_columns) / sizeof(*maker_columns));
	if (report_groups(r, r->profile, &groups, by, ORDER_BYTES)) {
		struct maker *makers = malloc((groups.n + (size_t)1) * sizeof(*makers));
		r->no_memory |= !makers || !trends_follow(&trends, r, &groups);
		for (uint32_t i = 0; i < n && !r->no_memory; i++)
			write_makers(r, &steps[i], i + 1, &trends, makers, by);
		free(makers);
	}
	trends_finish(&trends);
	groups_finish(&groups);
}

/* ---- Threads ---- */

static const struct answer_column thread_columns[] = {
	{ "step", "step", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_SIGNED, ANSWER_EVERYWHERE },
	{ "tid", "thread", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "name", "name", ANSWER_TEXT, ANSWER_EVERYWHERE },
};

/*
 * The threads whose calls changed most in the step, in its direction. `sums` and `makers` have an entry for each
 * thread.
 */
static void write_threads_of(struct report *r, const struct step *step, uint32_t number, uint64_t *sums,
			     struct maker *makers)
{
	const uint64_t top = report_top(r, 2);
	uint32_t n_threads, n = 0;
	const struct mst_thread *threads = mst_reader_threads(r->reader, &n_threads);
	memset(sums, 0, n_threads * sizeof(*sums));
	thread_changes_add_up(r->thread_changes, timeline_begins_ns(r->timeline, step->first),
			      timeline_begins_ns(r->timeline, step->last + 1), sums, n_threads);
	for (uint32_t i = 0; i < n_threads; i++) {
		const int64_t change = timeline_level(sums[i]);
		if (change != 0 && (change > 0) == (step->change > 0))
			makers[n++] = (struct maker){ change, i };
	}
	array_sort(makers, n, sizeof(*makers), compare);
	for (uint32_t i = 0; i < n && i < top; i++) {
		const struct mst_thread *thread = &threads[makers[i].group];
		char tid[16];
		answer_number(r->answer, number);
		answer_number(r->answer, (uint64_t)makers[i].change);
		snprintf(tid, sizeof(tid), "%" PRIu32, thread->tid);
		answer_text(r->answer, tid);
		answer_text(r->answer, thread->name && *thread->name ? thread->name : NULL);
	}
}

static void write_threads(struct report *r, const struct step *steps, uint32_t n)
{
	uint32_t n_threads;
	mst_reader_threads(r->reader, &n_threads);
	if (thread_count(r->reader) < 2)
		return;
	uint64_t *sums = calloc(n_threads, sizeof(*sums));
	struct maker *makers = calloc(n_threads, sizeof(*makers));
	r->no_memory |= !sums || !makers;
	answer_table(r->answer, "threads", "By thread", thread_columns,
		     sizeof(thread_columns) / sizeof(*thread_columns));
	for (uint32_t i = 0; i < n && !r->no_memory; i++)
		write_threads_of(r, &steps[i], i + 1, sums, makers);
	free(sums);
	free(makers);
}

static void write_steps(struct report *r)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_SITE;
	struct step steps[STEPS_MOST];
	int64_t levels[TIMELINE_BUCKETS];
	uint32_t n;
	const struct timeline_point *points = timeline_points(r->timeline, &n);
	for (uint32_t i = 0; i < n; i++)
		levels[i] = timeline_level(points[i].bytes);
	const uint64_t top = report_top(r, 10);
	const uint32_t found = steps_find(levels, n, steps, top < STEPS_MOST ? (uint32_t)top : STEPS_MOST);
	answer_section(r->answer, "steps", "Steps of the live bytes");
	write_list(r, steps, found);
	if (found) {
		write_all_makers(r, steps, found, by);
		write_threads(r, steps, found);
	} else {
		answer_note(
			r->answer,
			"No step: no short span of time moves the live bytes by a twentieth of the peak and far "
			"more than others do.");
	}
}

const struct report_section section_steps = {
	.name = "steps",
	.help = "when the live bytes jumped, and which allocations made them jump",
	.needs = NEEDS_TIMELINE | NEEDS_THREAD_CHANGES,
	.write = write_steps,
};
