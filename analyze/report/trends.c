/* SPDX-License-Identifier: MIT */
#include "trends.h"

#include <stdlib.h>

#include "report.h"

void trends_finish(struct trends *t)
{
	free(t->series);
	*t = (struct trends){ 0 };
}

bool trends_follow(struct trends *t, struct report *r, const struct groups *groups)
{
	const uint32_t n = groups->n < TRENDS_MOST ? groups->n : TRENDS_MOST;
	uint32_t n_stacks;
	timeline_points(r->timeline, &t->buckets);
	uint32_t *group_of = groups_of_stacks(groups, r->reader, r->sites, n, &n_stacks);
	t->series = malloc(((size_t)n * t->buckets + 1) * sizeof(*t->series));
	t->groups = groups->items;
	if (group_of && t->series) {
		timeline_follow(r->timeline, group_of, n_stacks, n, t->series);
		t->n = groups->by <= BY_LIBRARY ? n : 0;
	}
	free(group_of);
	return group_of && t->series;
}

const int64_t *trends_series(const struct trends *t, uint32_t group)
{
	return group < t->n ? t->series + (size_t)group * t->buckets : NULL;
}

bool trends_judge(const struct trends *t, const struct report *r, uint32_t group, struct judgement *judgement)
{
	*judgement = (struct judgement){ 0 };
	if (group >= t->n)
		return true;
	const struct trend trend = {
		.series = trends_series(t, group),
		.n = t->buckets,
		.begin_ns = timeline_begins_ns(r->timeline, 0),
		.span_ns = timeline_begins_ns(r->timeline, 1) - timeline_begins_ns(r->timeline, 0),
		.allocated = t->groups[group].calls,
		.live = t->groups[group].end_blocks,
	};
	return verdict_judge(&trend, judgement);
}
