/* SPDX-License-Identifier: MIT */
#include "trends.h"

#include <stdlib.h>

#include "figures.h"
#include "report.h"

#define PROJECTABLE_NS UINT64_C(10000000000)
#define DAY 86400.0
#define MUCH .01

void trends_finish(struct trends *t)
{
	free(t->series);
	*t = (struct trends){ 0 };
}

static uint32_t find_clean_up(const struct report *r, uint32_t *n)
{
	int64_t levels[TIMELINE_BUCKETS];
	const struct timeline_point *points = timeline_points(r->timeline, n);
	for (uint32_t i = 0; i < *n; i++)
		levels[i] = timeline_level(points[i].bytes);
	return verdict_clean_up(levels, *n);
}

bool trends_follow_stacks(struct trends *t, struct report *r, const struct groups *groups,
			  const uint32_t *group_of, uint32_t n_stacks)
{
	const uint32_t n = groups->n < TRENDS_MOST ? groups->n : TRENDS_MOST;
	t->clean_up = find_clean_up(r, &t->buckets);
	t->series = malloc(((size_t)n * t->buckets + 1) * sizeof(*t->series));
	t->groups = groups->items;
	if (!t->series)
		return false;
	timeline_follow(r->timeline, group_of, n_stacks, n, t->series);
	t->n = groups_have_stacks(groups->by) ? n : 0;
	return true;
}

bool trends_follow(struct trends *t, struct report *r, const struct groups *groups)
{
	uint32_t n_stacks;
	uint32_t *group_of = groups_of_stacks(groups, r->reader, r->sites, TRENDS_MOST, &n_stacks);
	const bool fine = group_of && trends_follow_stacks(t, r, groups, group_of, n_stacks);
	free(group_of);
	return fine;
}

const int64_t *trends_series(const struct trends *t, uint32_t group)
{
	return group < t->n ? t->series + (size_t)group * t->buckets : NULL;
}

static struct trend trend_of(const struct report *r, const struct group *group, const int64_t *series,
			     uint32_t n, uint32_t clean_up)
{
	return (struct trend){
		.series = series,
		.n = n,
		.clean_up = clean_up,
		.begin_ns = timeline_begins_ns(r->timeline, 0),
		.span_ns = timeline_begins_ns(r->timeline, 1) - timeline_begins_ns(r->timeline, 0),
		.allocated = group->calls,
		.live = group->end_blocks,
		.bytes = group->bytes,
	};
}

static uint64_t ns_until_end(const struct report *r, uint64_t from_ns)
{
	return r->end_ns > from_ns ? r->end_ns - from_ns : 0;
}

static bool judge(const struct report *r, const struct trend *trend, struct judgement *judgement)
{
	if (!verdict_judge(trend, judgement))
		return false;
	const double grown = judgement->slope * (double)ns_until_end(r, judgement->since_ns) / 1e9;
	judgement->grown = grown < (double)judgement->bytes ? (uint64_t)grown : judgement->bytes;
	return true;
}

bool trends_judge_series(const struct report *r, const struct group *group, const int64_t *series,
			 struct judgement *judgement)
{
	uint32_t n;
	const uint32_t clean_up = find_clean_up(r, &n);
	const struct trend trend = trend_of(r, group, series, n, clean_up);
	return judge(r, &trend, judgement);
}

bool trends_can_project(const struct report *r, uint64_t since_ns)
{
	return ns_until_end(r, since_ns) >= PROJECTABLE_NS;
}

bool trends_is_much(const struct report *r, const struct judgement *j, uint64_t all)
{
	const double cost = trends_can_project(r, j->since_ns) ? j->slope * DAY : (double)j->grown;
	return cost >= MUCH * (double)all;
}

bool trends_may_be_much(const struct trends *t, const struct report *r, uint32_t group, uint64_t all)
{
	const int64_t *series = trends_series(t, group);
	if (!series || t->buckets == 0 || trends_can_project(r, r->begin_ns))
		return series;
	/* Without a rate, what has grown counts, which is no more than what is live at the end or before the clean-up. */
	const int64_t end = series[t->buckets - 1], before = series[t->clean_up - 1];
	return (double)(end > before ? end : before) >= MUCH * (double)all;
}

uint64_t trends_clean_up_ns(const struct report *r)
{
	uint32_t n;
	const struct timeline_point *points = timeline_points(r->timeline, &n);
	const uint32_t clean_up = find_clean_up(r, &n);
	if (clean_up == 0 || clean_up >= n)
		return 0;
	const int64_t before = timeline_level(points[clean_up - 1].bytes);
	return timeline_level(points[n - 1].bytes) < before - before / 2
		       ? timeline_begins_ns(r->timeline, clean_up)
		       : 0;
}

bool trends_are_judged(const struct report *r)
{
	uint32_t n;
	timeline_points(r->timeline, &n);
	return n && verdict_is_long_enough(n, timeline_begins_ns(r->timeline, 1) -
						      timeline_begins_ns(r->timeline, 0));
}

void trends_note_length(struct report *r)
{
	uint32_t n;
	char length[FIGURE_SIZE];
	timeline_points(r->timeline, &n);
	if (n && !trends_are_judged(r))
		answer_note(r->answer, "Not judged: the run took %s. Verdicts need a second.",
			    figure_time(length, r->end_ns - r->begin_ns));
}

static struct trend trend_at(const struct trends *t, const struct report *r, uint32_t group)
{
	return trend_of(r, &t->groups[group], trends_series(t, group), t->buckets, t->clean_up);
}

bool trends_is_slower(const struct trends *t, const struct report *r, uint32_t group, double slope)
{
	if (group >= t->n)
		return true;
	const struct trend trend = trend_at(t, r, group);
	return verdict_is_slower(&trend, slope);
}

bool trends_judge(const struct trends *t, const struct report *r, uint32_t group, struct judgement *judgement)
{
	*judgement = (struct judgement){ 0 };
	if (group >= t->n)
		return true;
	const struct trend trend = trend_at(t, r, group);
	return judge(r, &trend, judgement);
}
