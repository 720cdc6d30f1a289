/* SPDX-License-Identifier: MIT */
/* What was never freed, by stack, and whether it grows. */
#include <stdlib.h>

#include "report.h"
#include "trends.h"

#define DAY 86400.0
#define MINUTE 60.0

static const struct answer_column columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "oldest_ns", "oldest", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "youngest_ns", "youngest", ANSWER_NS, ANSWER_DATA },
	{ "verdict", "verdict", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "since_ns", "since", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "bytes_per_minute", "a minute", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "bytes_per_day", "a day", ANSWER_BYTES, ANSWER_DATA },
	REPORT_GROUP_COLUMNS,
};

struct leak {
	const struct group *group;
	struct judgement judgement;
	uint32_t number;
};

/* Those that grow come first, the fastest at the top; then the largest. */
static int compare(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;
	if (x->judgement.slope != y->judgement.slope)
		return x->judgement.slope > y->judgement.slope ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* A hostile trace may end before its last event. */
static uint64_t age(const struct report *r, uint64_t birth_ns)
{
	return birth_ns < r->end_ns ? r->end_ns - birth_ns : 0;
}

static void write_ages(struct report *r, const struct group *group, enum group_by by)
{
	const struct life *life =
		report_knows_lives(r) && by == BY_STACK ? lives_of(r->lives, group->stack) : NULL;
	if (life && life->live) {
		answer_number(r->answer, age(r, life->oldest_ns));
		answer_number(r->answer, age(r, life->youngest_ns));
	} else {
		answer_nothing(r->answer);
		answer_nothing(r->answer);
	}
}

static void write_leak(struct report *r, const struct leak *leak, enum group_by by, uint64_t all)
{
	const struct judgement *j = &leak->judgement;
	answer_number(r->answer, leak->group->end_bytes);
	answer_number(r->answer, leak->group->end_blocks);
	answer_real(r->answer, report_share(leak->group->end_bytes, all));
	write_ages(r, leak->group, by);
	answer_text(r->answer, verdict_names[j->verdict]);
	if (j->verdict == VERDICT_GROWING) {
		answer_number(r->answer, j->since_ns);
		answer_number(r->answer, (uint64_t)(j->slope * MINUTE));
		answer_number(r->answer, (uint64_t)(j->slope * DAY));
	} else {
		for (int i = 0; i < 3; i++)
			answer_nothing(r->answer);
	}
	report_name_group(r, leak->group, by);
}

/* Groups with blocks live at the end. Their number, or 0 without memory. */
static uint32_t collect(struct report *r, const struct groups *groups, const struct trends *trends,
			struct leak *leaks)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < groups->n; i++) {
		if (groups->items[i].end_blocks == 0)
			continue;
		leaks[n] = (struct leak){ .group = &groups->items[i], .number = n };
		if (!trends_judge(trends, r, i, &leaks[n].judgement)) {
			r->no_memory = true;
			return 0;
		}
		n++;
	}
	qsort(leaks, n, sizeof(*leaks), compare);
	return n;
}

static void write_leaks(struct report *r)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_STACK;
	const struct report_totals totals = report_totals(r, r->profile);
	const uint64_t top = report_top(r, 10);
	struct groups groups;
	struct trends trends = { 0 };
	answer_section(r->answer, "leaks", "Live at the end");
	answer_fact(r->answer, "bytes", "live", ANSWER_BYTES, totals.end_bytes);
	answer_fact(r->answer, "blocks", "blocks", ANSWER_COUNT, totals.end_blocks);
	answer_table(r->answer, "leaks", NULL, columns, sizeof(columns) / sizeof(*columns));
	if (report_groups(r, r->profile, &groups, by, ORDER_END)) {
		struct leak *leaks = malloc((groups.n + (size_t)1) * sizeof(*leaks));
		r->no_memory |= !leaks || !trends_follow(&trends, r, &groups);
		const uint32_t n = r->no_memory ? 0 : collect(r, &groups, &trends, leaks);
		for (uint32_t i = 0; i < n && i < top; i++)
			write_leak(r, &leaks[i], by, totals.end_bytes);
		answer_left_out(r->answer, n > top ? n - top : 0);
		free(leaks);
	}
	trends_finish(&trends);
	groups_finish(&groups);
}

const struct report_section section_leaks = {
	.name = "leaks",
	.help = "what was never freed: how much, how old, and whether it grows",
	.needs = NEEDS_TIMELINE | WANTS_LIVES,
	.write = write_leaks,
};
