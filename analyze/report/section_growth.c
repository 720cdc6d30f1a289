/* SPDX-License-Identifier: MIT */
/* What was allocated after one moment and is live at another, and how its live bytes went. */
#include <inttypes.h>
#include <stdlib.h>

#include "report.h"
#include "trends.h"

static const struct answer_column columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "live_bytes", "live bytes", ANSWER_SERIES, ANSWER_EVERYWHERE },
	{ "verdict", "verdict", ANSWER_TEXT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static void write_group(struct report *r, const struct group *g, const struct trends *trends, uint32_t i,
			enum group_by by, uint64_t all)
{
	struct judgement judgement;
	r->no_memory |= !trends_judge(trends, r, i, &judgement);
	answer_number(r->answer, g->then_bytes);
	answer_real(r->answer, report_share(g->then_bytes, all));
	answer_number(r->answer, g->then_blocks);
	if (trends_series(trends, i))
		answer_series(r->answer, trends_series(trends, i), trends->buckets);
	else
		answer_nothing(r->answer);
	answer_text(r->answer, verdict_names[judgement.verdict]);
	report_name_group(r, g, by);
}

/*
 * Verdicts are about all calls of a group, not just those of which the section tells. `all`: by group of `groups`, which
 * have stacks, what all of the run come to; NULL: no memory, and the report knows.
 */
static struct group *collect_all(struct report *r, const struct groups *groups)
{
	struct groups stacks = { 0 };
	struct group *all = calloc(groups->n + (size_t)1, sizeof(*all));
	uint32_t n_stacks;
	uint32_t *group_of = groups_of_stacks(groups, r->reader, r->sites, groups->n, &n_stacks);
	const bool fine = all && group_of && report_groups(r, r->profile, &stacks, BY_NODE, ORDER_BYTES);
	for (uint32_t i = 0; fine && i < stacks.n; i++) {
		const struct group *g = &stacks.items[i];
		if (group_of[g->stack] != MST_NONE)
			group_add(&all[group_of[g->stack]], g);
	}
	groups_finish(&stacks);
	free(group_of);
	if (fine)
		return all;
	r->no_memory = true;
	free(all);
	return NULL;
}

static void write_groups(struct report *r, const struct groups *groups, uint64_t all_bytes)
{
	const uint64_t top = report_top(r, 10);
	struct trends trends = { 0 };
	struct group *all = collect_all(r, groups);
	uint64_t rows = 0;
	r->no_memory |= !trends_follow(&trends, r, groups);
	trends.groups = all;
	for (uint32_t i = 0; i < groups->n && !r->no_memory; i++) {
		if (groups->items[i].then_blocks && rows++ < top)
			write_group(r, &groups->items[i], &trends, i, groups->by, all_bytes);
	}
	answer_left_out(r->answer, rows > top ? rows - top : 0);
	if (rows)
		trends_note_length(r);
	trends_finish(&trends);
	free(all);
}

/* Where the program freed most of what it had before it ended, what it had then is another question. */
static void note_clean_up(struct report *r)
{
	const uint64_t ms = trends_clean_up_ns(r) / 1000000;
	if (r->query->until_ms == PROFILE_NO_TIME && ms > report_growth_from(r))
		answer_note(
			r->answer,
			"The program freed most of what it had at its end. What was there before: msreport growth "
			"--until=%" PRIu64 "ms %s",
			ms, r->name);
}

static void write_growth(struct report *r)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_SITE;
	const struct report_totals totals = report_totals(r, r->growth);
	struct groups groups;
	answer_section(r->answer, "growth", "Allocated after one moment and live at another");
	answer_fact(r->answer, "from_ns", "allocated after", ANSWER_NS, report_growth_from(r) * 1000000);
	answer_fact(r->answer, "until_ns", "live at", ANSWER_NS, profile_point_ns(r->growth));
	answer_fact(r->answer, "bytes", "bytes", ANSWER_BYTES, totals.then_bytes);
	answer_fact(r->answer, "blocks", "blocks", ANSWER_COUNT, totals.then_blocks);
	answer_table(r->answer, "largest", NULL, columns, sizeof(columns) / sizeof(*columns));
	if (report_groups(r, r->growth, &groups, by, ORDER_THEN))
		write_groups(r, &groups, totals.then_bytes);
	note_clean_up(r);
	groups_finish(&groups);
}

const struct report_section section_growth = {
	.name = "growth",
	.help = "what was allocated after --from and is live at --until",
	.needs = NEEDS_TIMELINE | NEEDS_GROWTH,
	.write = write_growth,
};
