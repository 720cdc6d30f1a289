/* SPDX-License-Identifier: MIT */
/* What was live at the peak, or at another moment: the largest groups, and the tree of calls that lead to them. */
#include "call_tree.h"
#include "report.h"

/* ---- The flat list ---- */

static const struct answer_column list_columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static void write_list(struct report *r, const struct report_totals *totals)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_SITE;
	const uint64_t top = report_top(r, 10);
	struct groups groups;
	uint64_t rows = 0;
	answer_table(r->answer, "largest", NULL, list_columns, sizeof(list_columns) / sizeof(*list_columns));
	if (report_groups(r, r->profile, &groups, by, ORDER_THEN)) {
		for (uint32_t i = 0; i < groups.n; i++) {
			const struct group *g = &groups.items[i];
			if (g->then_bytes == 0 && g->then_blocks == 0)
				continue;
			if (rows++ >= top)
				continue;
			answer_number(r->answer, g->then_bytes);
			answer_real(r->answer, report_share(g->then_bytes, totals->then_bytes));
			answer_number(r->answer, g->then_blocks);
			report_name_group(r, g, by);
		}
	}
	answer_left_out(r->answer, rows > top ? rows - top : 0);
	groups_finish(&groups);
}

static void write_peak(struct report *r)
{
	const struct report_totals totals = report_totals(r, r->profile);
	const enum at_kind kind = r->query->at.kind;
	answer_section(r->answer, "peak",
		       kind == AT_PEAK   ? "Live at the peak"
		       : kind == AT_END  ? "Live at the end"
		       : kind == AT_MARK ? "Live at that mark"
					 : "Live at that time");
	answer_fact(r->answer, "bytes", "live", ANSWER_BYTES, totals.then_bytes);
	answer_fact(r->answer, "blocks", "blocks", ANSWER_COUNT, totals.then_blocks);
	answer_fact(r->answer, "time_ns", "at", ANSWER_NS, profile_point_ns(r->profile));
	write_list(r, &totals);
	if (!r->query->by_given)
		call_tree_write(r);
}

const struct report_section section_peak = {
	.name = "peak",
	.help = "what is live at the peak, or with --at at another moment",
	.write = write_peak,
};
