/* SPDX-License-Identifier: MIT */
/* What was allocated after one moment and is live at another, and how its live bytes went. */
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

static void write_group(struct report *r, const struct trends *trends, uint32_t i, enum group_by by,
			uint64_t all)
{
	const struct group *g = &trends->groups[i];
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

static void write_growth(struct report *r)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_SITE;
	const struct report_totals totals = report_totals(r, r->growth);
	const uint64_t top = report_top(r, 10);
	struct groups groups;
	struct trends trends = { 0 };
	uint64_t rows = 0;
	answer_section(r->answer, "growth", "Allocated after one moment and live at another");
	answer_fact(r->answer, "from_ns", "allocated after", ANSWER_NS, report_growth_from(r) * 1000000);
	answer_fact(r->answer, "until_ns", "live at", ANSWER_NS, profile_point_ns(r->growth));
	answer_fact(r->answer, "bytes", "bytes", ANSWER_BYTES, totals.then_bytes);
	answer_fact(r->answer, "blocks", "blocks", ANSWER_COUNT, totals.then_blocks);
	answer_table(r->answer, "largest", NULL, columns, sizeof(columns) / sizeof(*columns));
	if (report_groups(r, r->growth, &groups, by, ORDER_THEN)) {
		r->no_memory |= !trends_follow(&trends, r, &groups);
		trends.groups = groups.items;
		for (uint32_t i = 0; i < groups.n; i++) {
			if (groups.items[i].then_blocks && rows++ < top)
				write_group(r, &trends, i, by, totals.then_bytes);
		}
	}
	answer_left_out(r->answer, rows > top ? rows - top : 0);
	if (rows)
		trends_note_length(r);
	trends_finish(&trends);
	groups_finish(&groups);
}

const struct report_section section_growth = {
	.name = "growth",
	.help = "what was allocated after --from and is live at --until",
	.needs = NEEDS_TIMELINE | NEEDS_GROWTH,
	.write = write_growth,
};
