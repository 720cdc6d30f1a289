/* SPDX-License-Identifier: MIT */
#include "fleet_sums.h"

#include <stdlib.h>
#include <string.h>

#include "scale.h"
#include "trends.h"

#define NS_PER_S 1000000000u
#define NS_PER_MS 1000000u
#define HOUR 3600.0

void fleet_figures_of(uint64_t figures[FLEET_FIGURES], const struct group *g)
{
	figures[FLEET_PEAK_BYTES] = g->then_bytes;
	figures[FLEET_PEAK_BLOCKS] = g->then_blocks;
	figures[FLEET_END_BYTES] = g->end_bytes;
	figures[FLEET_END_BLOCKS] = g->end_blocks;
	figures[FLEET_ALLOC_BYTES] = g->bytes;
	figures[FLEET_ALLOC_BLOCKS] = g->calls;
	figures[FLEET_BYTE_SECONDS] = 0;
}

void fleet_sums_finish(struct fleet *f)
{
	for (unsigned i = 0; i < FLEET_PARTS; i++)
		fleet_items_finish(&f->parts[i]);
	groups_finish(&f->nodes);
	free(f->frames);
	free(f->functions);
	free(f->frame_items);
	free(f->site_of);
	pool_finish(&f->pool);
}

/* ---- Sizes ---- */

/* Classes of powers of two: 0, 1, 2-3, 4-7 ... */
static bool add_sizes(struct fleet *f)
{
	struct groups sizes = { 0 };
	struct fleet_row classes[65] = { 0 };
	const bool fine = groups_collect(&sizes, f->report->reader, f->report->profile, f->report->sites,
					 BY_SIZE, NULL);
	for (uint32_t i = 0; fine && i < sizes.n; i++) {
		const uint64_t size = sizes.items[i].key;
		const unsigned number = size ? 64 - (unsigned)__builtin_clzll(size) : 0;
		struct fleet_row *row = &classes[number];
		uint64_t figures[FLEET_FIGURES];
		fleet_figures_of(figures, &sizes.items[i]);
		fleet_figures_add(row->figures, figures);
		row->part = FLEET_SIZE;
		row->key = number + 1;
		row->from = number ? UINT64_C(1) << (number - 1) : 0;
		row->until = number == 64 ? UINT64_MAX : UINT64_C(1) << number;
	}
	for (unsigned i = 0; i < 65; i++) {
		if (classes[i].key)
			f->sizes[f->n_sizes++] = classes[i];
	}
	groups_finish(&sizes);
	return fine;
}

/* ---- Time ---- */

static uint64_t level_of(int64_t level)
{
	return level > 0 ? (uint64_t)level : 0;
}

static uint64_t bucket_span(const struct fleet *f)
{
	return timeline_begins_ns(f->report->timeline, 1) - timeline_begins_ns(f->report->timeline, 0);
}

/* Of equal buckets: a hostile trace's levels may exceed what a sum holds. */
static uint64_t add_level(uint64_t sum, uint64_t level)
{
	return level < UINT64_MAX - sum ? sum + level : UINT64_MAX;
}

/* Bytes times seconds of the sum of levels that each last `span_ns`. */
static uint64_t to_seconds(uint64_t levels, uint64_t span_ns)
{
	return scale(levels, span_ns, NS_PER_S);
}

/* Some buckets of the timeline become one; the seconds of all come to those of the run. */
static void add_times(struct fleet *f)
{
	uint32_t n;
	const struct timeline_point *points = timeline_points(f->report->timeline, &n);
	const uint32_t each = (n + FLEET_BUCKETS - 1) / FLEET_BUCKETS;
	const uint64_t span = n ? bucket_span(f) : 0;
	uint64_t sum = 0, before = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct fleet_row *row = &f->times[i / each];
		const uint64_t level = level_of(timeline_level(points[i].bytes));
		if (i % each == 0) {
			row->part = FLEET_TIME;
			row->key = ++f->n_times;
			row->from = timeline_begins_ns(f->report->timeline, i) / NS_PER_MS;
		}
		row->until = timeline_begins_ns(f->report->timeline, i + 1) / NS_PER_MS;
		row->figures[FLEET_END_BYTES] = level;
		row->figures[FLEET_END_BLOCKS] = points[i].blocks;
		if (level >= row->figures[FLEET_PEAK_BYTES]) {
			row->figures[FLEET_PEAK_BYTES] = level;
			row->figures[FLEET_PEAK_BLOCKS] = points[i].blocks;
		}
		row->figures[FLEET_ALLOC_BYTES] += points[i].allocated;
		row->figures[FLEET_ALLOC_BLOCKS] += points[i].calls;
		sum = add_level(sum, level);
		row->figures[FLEET_BYTE_SECONDS] += to_seconds(sum, span) - before;
		before = to_seconds(sum, span);
	}
	f->totals[FLEET_BYTE_SECONDS] = before;
}

/* ---- Sites over time ---- */

static bool judge(struct fleet *f, struct fleet_item *item, const int64_t *series, uint32_t n)
{
	const struct group group = { .calls = item->figures[FLEET_ALLOC_BLOCKS],
				     .end_blocks = item->figures[FLEET_END_BLOCKS],
				     .bytes = item->figures[FLEET_ALLOC_BYTES] };
	struct judgement judgement = { 0 };
	const uint64_t span = bucket_span(f);
	uint64_t sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum = add_level(sum, level_of(series[i]));
	item->figures[FLEET_BYTE_SECONDS] = to_seconds(sum, span);
	if (!trends_judge_series(f->report, &group, series, &judgement))
		return false;
	item->verdict = judgement.verdict == VERDICT_NONE ? "" : verdict_names[judgement.verdict];
	if (judgement.verdict == VERDICT_GROWING && trends_can_project(f->report, judgement.since_ns))
		item->growth = (uint64_t)(judgement.slope * HOUR);
	return true;
}

bool fleet_sums_follow(struct fleet *f)
{
	struct fleet_items *sites = &f->parts[FLEET_SITE];
	uint32_t n, n_kept = 0;
	timeline_points(f->report->timeline, &n);
	uint32_t *number = malloc((sites->n + (size_t)1) * sizeof(*number));
	uint32_t *group_of = malloc((f->n_stacks + (size_t)1) * sizeof(*group_of));
	for (uint32_t i = 0; number && i < sites->n; i++)
		number[i] = sites->items[i].kept ? n_kept++ : MST_NONE;
	int64_t *series = malloc(((size_t)n_kept * n + 1) * sizeof(*series));
	bool fine = number && group_of && series;
	for (uint32_t i = 0; fine && i < f->n_stacks; i++)
		group_of[i] = f->site_of[i] == MST_NONE ? MST_NONE : number[f->site_of[i]];
	if (fine && n)
		timeline_follow(f->report->timeline, group_of, f->n_stacks, n_kept, series);
	for (uint32_t i = 0; fine && n && i < sites->n; i++) {
		if (sites->items[i].kept)
			fine = judge(f, &sites->items[i], series + (size_t)number[i] * n, n);
	}
	free(number);
	free(group_of);
	free(series);
	return fine;
}

bool fleet_sums_make(struct fleet *f)
{
	struct report *r = f->report;
	if (!groups_collect(&f->nodes, r->reader, r->profile, r->sites, BY_NODE, NULL))
		return false;
	for (uint32_t i = 0; i < f->nodes.n; i++) {
		uint64_t figures[FLEET_FIGURES];
		fleet_figures_of(figures, &f->nodes.items[i]);
		fleet_figures_add(f->totals, figures);
	}
	add_times(f);
	return add_sizes(f) && fleet_stacks_add(f);
}
