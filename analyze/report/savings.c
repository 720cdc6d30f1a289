/* SPDX-License-Identifier: MIT */
#include "savings.h"

#include <stdlib.h>

#include "report.h"
#include "trends.h"

/* ---- What is left out ---- */

/* Moments at which the live bytes of groups are known: the ends of the timeline's parts, and the peak. */
struct moments {
	struct trends trends;
	uint32_t n;
	bool peak; /* the last one is the peak */
	int64_t left[TIMELINE_BUCKETS + 1];
};

static int64_t live_at(const struct moments *m, const struct groups *groups, uint32_t group, uint32_t moment)
{
	return m->peak && moment + 1 == m->n ? timeline_level(groups->items[group].then_bytes)
					     : trends_series(&m->trends, group)[moment];
}

/* False: no memory. */
static bool find_moments(struct moments *m, struct report *r, const struct savings *s)
{
	const struct timeline_point *points = timeline_points(r->timeline, &m->n);
	for (uint32_t i = 0; i < m->n; i++)
		m->left[i] = timeline_level(points[i].bytes);
	m->peak = r->query->at.kind == AT_PEAK;
	if (m->peak)
		m->left[m->n++] = timeline_level(turnover_peak(r->turnover).bytes);
	return trends_follow(&m->trends, r, &s->groups);
}

static uint32_t find_highest(const struct moments *m)
{
	uint32_t highest = 0;
	for (uint32_t i = 1; i < m->n; i++) {
		if (m->left[i] > m->left[highest])
			highest = i;
	}
	return highest;
}

static bool is_removed(const struct peak_without_query *q, uint32_t group)
{
	for (uint32_t i = 0; i < q->n_removed; i++) {
		if (q->removed[i] == group)
			return true;
	}
	return false;
}

/* The group to leave out next; MST_NONE: the largest of those that are left has nothing. */
static uint32_t find_next(const struct moments *m, const struct savings *s)
{
	const uint32_t highest = find_highest(m);
	uint32_t next = MST_NONE;
	int64_t most = 0;
	for (uint32_t g = 0; g < m->trends.n; g++) {
		const int64_t live = live_at(m, &s->groups, g, highest);
		if (live > most && !is_removed(&s->query, g)) {
			most = live;
			next = g;
		}
	}
	return next;
}

/* Leaves out groups until less than half of each moment's bytes is left. False: no memory. */
static bool choose_removed(struct savings *s, struct report *r)
{
	struct peak_without_query *q = &s->query;
	struct moments m = { 0 };
	const int64_t half = (int64_t)(turnover_peak(r->turnover).bytes / 2);
	const bool fine = find_moments(&m, r, s);
	uint32_t next;
	while (fine && m.n && q->n_removed < WITHOUT_MOST && m.left[find_highest(&m)] > half &&
	       (next = find_next(&m, s)) != MST_NONE) {
		for (uint32_t i = 0; i < m.n; i++)
			m.left[i] = timeline_level((uint64_t)m.left[i] -
						   (uint64_t)live_at(&m, &s->groups, next, i));
		q->floors[q->n_removed] = m.peak && m.left[m.n - 1] > 0 ? (uint64_t)m.left[m.n - 1] : 0;
		q->removed[q->n_removed++] = next;
	}
	trends_finish(&m.trends);
	return fine;
}

/* ---- What is freed early ---- */

static bool is_worth(uint64_t bytes, uint64_t peak)
{
	return bytes >= SAVINGS_LEAST && bytes >= peak / SAVINGS_PART;
}

/* Keeps the largest ones. */
static void add_early(struct peak_without_query *q, const struct peak_early *early)
{
	uint32_t i = q->n_early < EARLY_MOST ? q->n_early++ : EARLY_MOST;
	for (; i > 0 && q->early[i - 1].bytes < early->bytes; i--) {
		if (i < EARLY_MOST)
			q->early[i] = q->early[i - 1];
	}
	if (i < EARLY_MOST)
		q->early[i] = *early;
}

/* False: no memory. */
static bool choose_early(struct savings *s, const struct report *r)
{
	const struct turnover_peak peak = turnover_peak(r->turnover);
	struct peak_early *all = calloc(s->groups.n + (size_t)1, sizeof(*all));
	s->early = calloc(s->groups.n + (size_t)1, sizeof(*s->early));
	for (uint32_t i = 0; all && s->early && i < s->n_stacks; i++) {
		const struct turnover_early early = turnover_early(r->turnover, i);
		const uint32_t group = s->group_of[i];
		if (early.blocks == 0 || group == MST_NONE)
			continue;
		all[group].group = group;
		all[group].bytes += early.bytes;
		if (early.last > all[group].last)
			all[group].last = early.last;
	}
	for (uint32_t g = 0; all && s->early && g < s->groups.n; g++) {
		s->early[g] = all[g].bytes;
		/* What is freed when the program ends couldn't be freed earlier. */
		if (peak.until < peak.last && is_worth(all[g].bytes, peak.bytes))
			add_early(&s->query, &all[g]);
	}
	free(all);
	return all && s->early;
}

/* ---- The plan ---- */

/* False: no memory. */
static bool plan(struct savings *s, struct report *r)
{
	const struct turnover_peak peak = turnover_peak(r->turnover);
	const enum group_by by = r->query->by_given && r->query->by <= BY_LIBRARY ? r->query->by : BY_SITE;
	s->by = by;
	if (!report_groups(r, r->profile, &s->groups, by, ORDER_THEN))
		return false;
	s->group_of = groups_of_stacks(&s->groups, r->reader, r->sites, s->groups.n, &s->n_stacks);
	if (!s->group_of || !choose_early(s, r))
		return false;
	s->query.group_of = s->group_of;
	s->query.n_stacks = s->n_stacks;
	s->query.n_groups = s->groups.n;
	s->query.peak = peak.index;
	s->query.until = peak.until;
	s->query.early_frees = turnover_early_frees(r->turnover, &s->query.n_early_frees);
	if (mst_reader_info(r->reader)->sample_bytes || r->once || peak.bytes == 0)
		return true;
	return choose_removed(s, r) && (s->without = peak_without_create(&s->query));
}

struct observer *savings_plan(struct report *r)
{
	if (r->savings)
		return NULL;
	r->savings = calloc(1, sizeof(*r->savings));
	if (!r->savings || !plan(r->savings, r)) {
		r->no_memory = true;
		return NULL;
	}
	return r->savings->without ? peak_without_observer(r->savings->without) : NULL;
}

void savings_destroy(struct savings *s)
{
	if (!s)
		return;
	groups_finish(&s->groups);
	free(s->group_of);
	free(s->early);
	peak_without_destroy(s->without);
	free(s);
}
