/* SPDX-License-Identifier: MIT */
/* One stack's whole life: its calls, what it allocated, how its live bytes went, what became of its blocks. */
#include <stdlib.h>

#include "group_lives.h"
#include "report.h"
#include "trends.h"

static const struct answer_column frame_columns[] = {
	{ "function", "innermost call first", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "place", "at", ANSWER_PLACE, ANSWER_SCREEN },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "module", "module", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "via", "", ANSWER_TEXT, ANSWER_SCREEN },
	{ "id", "", ANSWER_ID, ANSWER_SCREEN },
};

/* True if the id begins with the digits that were asked for. */
static bool is_asked(const struct report_query *q, uint64_t id)
{
	return (id ^ q->stack_id) >> (64 - 4 * q->stack_digits) == 0;
}

/* The stacks of that id, as one group, and what they come to. Their number. */
static uint32_t find_stacks(struct report *r, const struct groups *stacks, uint32_t *group_of,
			    struct group *all)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < stacks->n; i++) {
		const struct group *g = &stacks->items[i];
		if (!is_asked(r->query, sites_id(r->sites, g->stack)))
			continue;
		group_of[g->stack] = 0;
		all->stack = found++ ? all->stack : g->stack;
		group_add(all, g);
	}
	return found;
}

static void write_frames(struct report *r, uint32_t stack)
{
	uint32_t n;
	const struct mst_stack *nodes = mst_reader_stacks(r->reader, &n);
	const struct mst_frame *frames = mst_reader_frames(r->reader, &n);
	answer_table(r->answer, "frames", NULL, frame_columns,
		     sizeof(frame_columns) / sizeof(*frame_columns));
	for (; stack != MST_ROOT_STACK; stack = nodes[stack].parent) {
		const uint32_t frame = nodes[stack].frame;
		const uint32_t *calls = call_sites_of(r->calls, frame, &n);
		r->no_memory |= !calls;
		for (uint32_t i = 0; calls && i < n; i++)
			report_name_call(r, calls[i], frames[frame].module, BY_SITE);
	}
}

static void write_figures(struct report *r, const struct group *g)
{
	answer_fact(r->answer, "calls", "calls", ANSWER_COUNT, g->calls);
	answer_fact(r->answer, "bytes", "bytes", ANSWER_BYTES, g->bytes);
	answer_fact(r->answer, "least", "smallest", ANSWER_BYTES, g->least);
	answer_fact(r->answer, "most", "largest", ANSWER_BYTES, g->most);
	answer_fact(r->answer, "peak_bytes", "at the peak", ANSWER_BYTES, g->then_bytes);
	answer_fact(r->answer, "end_bytes", "at the end", ANSWER_BYTES, g->end_bytes);
	answer_fact(r->answer, "end_blocks", "blocks", ANSWER_COUNT, g->end_blocks);
}

static void write_trend(struct report *r, const struct group *g, const uint32_t *group_of, uint32_t n_stacks)
{
	int64_t series[TIMELINE_BUCKETS];
	struct judgement judgement;
	uint32_t buckets;
	timeline_points(r->timeline, &buckets);
	timeline_follow(r->timeline, group_of, n_stacks, 1, series);
	r->no_memory |= !trends_judge_series(r, g, series, &judgement);
	answer_fact_series(r->answer, "live_bytes", "live bytes", series, buckets);
	answer_fact_text(r->answer, "verdict", "verdict", verdict_names[judgement.verdict]);
	if (judgement.verdict == VERDICT_GROWING) {
		answer_fact(r->answer, "since_ns", "since", ANSWER_NS, judgement.since_ns);
		const bool project = trends_can_project(r, judgement.since_ns);
		answer_fact(r->answer, "bytes_per_minute", project ? "a minute" : NULL, ANSWER_BYTES,
			    (uint64_t)(judgement.slope * 60));
		answer_fact(r->answer, "grown_bytes", project ? NULL : "grew by", ANSWER_BYTES,
			    judgement.grown);
	}
}

static void write_life(struct report *r, const uint32_t *group_of, uint32_t n_stacks)
{
	struct group_lives lives = { 0 };
	if (!report_knows_lives(r)) {
		report_note_wanted_lives(r, "Lifetimes are", "--stack=ID");
		return;
	}
	if (group_lives_add_up(&lives, r, group_of, n_stacks, 1)) {
		const struct group_life *life = lives.items;
		answer_fact(r->answer, "freed", "freed", ANSWER_COUNT, life->freed);
		answer_fact(r->answer, "temporary", "temporary", ANSWER_COUNT, life->temporary);
		if (life->freed) {
			answer_fact(r->answer, "life_calls_p50", "median life, calls", ANSWER_COUNT,
				    histogram_quantile(&life->lifetimes.calls, &lives.pages, .5));
			answer_fact(r->answer, "life_ns_p50", "median life", ANSWER_NS,
				    histogram_quantile(&life->lifetimes.time_ns, &lives.pages, .5));
			answer_fact(r->answer, "life_calls_max", "longest life, calls", ANSWER_COUNT,
				    life->most_calls);
		}
		if (life->resized) {
			answer_fact(r->answer, "reallocs", "reallocs", ANSWER_COUNT, life->resized);
			answer_fact(r->answer, "copied", "copied by them", ANSWER_BYTES, life->copied);
		}
	} else {
		r->no_memory = true;
	}
	group_lives_finish(&lives);
}

static void write_stack(struct report *r)
{
	struct groups stacks;
	struct group all = { 0 };
	uint32_t n;
	mst_reader_stacks(r->reader, &n);
	uint32_t *group_of = malloc((n + (size_t)1) * sizeof(*group_of));
	answer_section(r->answer, "stack", "One stack");
	r->no_memory |= !group_of;
	for (uint32_t i = 0; group_of && i < n; i++)
		group_of[i] = MST_NONE;
	if (group_of && report_groups(r, r->profile, &stacks, BY_NODE, ORDER_BYTES)) {
		if (find_stacks(r, &stacks, group_of, &all)) {
			answer_fact(r->answer, "id", "stack", ANSWER_ID, sites_id(r->sites, all.stack));
			write_figures(r, &all);
			write_trend(r, &all, group_of, n);
			write_life(r, group_of, n);
			write_frames(r, all.stack);
		} else {
			answer_note(r->answer, "No stack that allocates has this id.");
		}
		groups_finish(&stacks);
	}
	free(group_of);
}

const struct report_section section_stack = {
	.name = "stack",
	.help = "one stack's whole life, of the id --stack=ID",
	.needs = NEEDS_TIMELINE | WANTS_LIVES | NEEDS_HISTOGRAMS,
	.write = write_stack,
};
