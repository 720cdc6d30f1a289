/* SPDX-License-Identifier: MIT */
/* Who calls the allocator most, how long blocks live, and what reallocs copy. */
#include <stdlib.h>

#include "array.h"
#include "group_lives.h"
#include "report.h"

static const struct answer_column columns[] = {
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "temporary", "", ANSWER_COUNT, ANSWER_DATA },
	{ "temporary_share", "temporary", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "temporary_by_heaptrack", "", ANSWER_COUNT, ANSWER_DATA },
	{ "freed", "", ANSWER_COUNT, ANSWER_DATA },
	{ "life_calls_p50", "median life", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_calls_p99", "p99", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_calls_max", "longest", ANSWER_COUNT, ANSWER_DATA },
	{ "life_bytes_p50", "", ANSWER_BYTES, ANSWER_DATA },
	{ "life_bytes_p99", "", ANSWER_BYTES, ANSWER_DATA },
	{ "life_ns_p50", "", ANSWER_NS, ANSWER_DATA },
	{ "life_ns_p99", "", ANSWER_NS, ANSWER_DATA },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column realloc_columns[] = {
	{ "copied", "copied", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "moved", "moved", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "reallocs", "reallocs", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "chain", "longest chain", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "chain_from", "from", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "chain_to", "to", ANSWER_BYTES, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static void write_if(struct report *r, bool known, uint64_t number)
{
	if (known)
		answer_number(r->answer, number);
	else
		answer_nothing(r->answer);
}

static void write_lives(struct report *r, const struct group_lives *lives, uint32_t i)
{
	const struct group_life *life = &lives->items[i];
	const bool known = report_knows_lives(r);
	write_if(r, known, life->temporary);
	if (known)
		answer_real(r->answer, report_share(life->temporary, life->blocks));
	else
		answer_nothing(r->answer);
	answer_number(r->answer, life->temporary_by_heaptrack);
	write_if(r, known, life->freed);
	group_life_write(r->answer, life, &lives->pages);
}

static void write_sites(struct report *r, const struct groups *groups, const struct group_lives *lives,
			enum group_by by, uint64_t all)
{
	const uint64_t top = report_top(r, 10);
	answer_table(r->answer, "busiest", NULL, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < groups->n && i < top; i++) {
		const struct group *g = &groups->items[i];
		answer_number(r->answer, g->calls);
		answer_real(r->answer, report_share(g->calls, all));
		answer_number(r->answer, g->bytes);
		write_lives(r, lives, i);
		report_name_group(r, g, by);
	}
	answer_left_out(r->answer, groups->n > top ? groups->n - top : 0);
}

/* ---- Reallocs ---- */

struct mover {
	uint64_t copied;
	uint32_t group;
};

static int compare(const void *a, const void *b)
{
	const struct mover *x = a, *y = b;
	if (x->copied != y->copied)
		return x->copied > y->copied ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static void write_mover(struct report *r, const struct group_life *life, const struct group *group,
			enum group_by by)
{
	answer_number(r->answer, life->copied);
	answer_number(r->answer, life->moved);
	answer_number(r->answer, life->resized);
	answer_number(r->answer, life->chain);
	answer_number(r->answer, life->chain_from);
	answer_number(r->answer, life->chain_to);
	report_name_group(r, group, by);
}

static void write_reallocs(struct report *r, const struct groups *groups, const struct group_lives *lives,
			   enum group_by by)
{
	const uint64_t top = report_top(r, 5);
	struct mover *movers = malloc((groups->n + (size_t)1) * sizeof(*movers));
	uint32_t n = 0;
	r->no_memory |= !movers;
	for (uint32_t i = 0; movers && i < groups->n; i++) {
		if (lives->items[i].resized)
			movers[n++] = (struct mover){ lives->items[i].copied, i };
	}
	if (n) {
		array_sort(movers, n, sizeof(*movers), compare);
		answer_table(r->answer, "reallocs", "Reallocs", realloc_columns,
			     sizeof(realloc_columns) / sizeof(*realloc_columns));
	}
	for (uint32_t i = 0; i < n && i < top; i++)
		write_mover(r, &lives->items[movers[i].group], &groups->items[movers[i].group], by);
	if (n > top)
		answer_left_out(r->answer, n - top);
	free(movers);
}

static void write_churn(struct report *r)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_SITE;
	const struct report_totals totals = report_totals(r, r->profile);
	struct groups groups;
	struct group_lives lives = { 0 };
	answer_section(r->answer, "churn", "Calls of the allocator");
	answer_fact(r->answer, "calls", "calls", ANSWER_COUNT, totals.calls);
	answer_fact(r->answer, "bytes", "bytes", ANSWER_BYTES, totals.bytes);
	if (report_knows_lives(r))
		answer_fact(r->answer, "temporary", "temporary", ANSWER_COUNT, lives_temporary(r->lives));
	if (report_groups(r, r->profile, &groups, by, ORDER_CALLS)) {
		r->no_memory |= !group_lives_collect(&lives, r, &groups);
		if (!r->no_memory) {
			write_sites(r, &groups, &lives, by, totals.calls);
			if (report_knows_lives(r))
				write_reallocs(r, &groups, &lives, by);
		}
	}
	report_note_lives(r);
	group_lives_finish(&lives);
	groups_finish(&groups);
}

const struct report_section section_churn = {
	.name = "churn",
	.help = "who allocates most often, how long blocks live, reallocs",
	.needs = NEEDS_LIVES | NEEDS_HISTOGRAMS,
	.write = write_churn,
};
