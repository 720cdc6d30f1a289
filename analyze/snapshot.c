/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "tree.h"

bool snapshots_init(struct snapshots *s, const struct settings *settings)
{
	*s = (struct snapshots){
		.max = settings->max_snapshots,
		.detailed_freq = settings->detailed_freq,
		.peak_inaccuracy = settings->peak_inaccuracy > 0 ? settings->peak_inaccuracy : 0,
	};
	s->items = calloc(s->max, sizeof(*s->items));
	return s->items != NULL;
}

void snapshots_finish(struct snapshots *s)
{
	for (size_t i = 0; i < s->n; i++)
		tree_destroy(s->items[i].tree);
	free(s->items);
}

/* First and last stay whatever happens, and so does the peak. */
static bool is_removable(const struct snapshots *s, size_t i)
{
	return i != 0 && i != s->n - 1 && s->items[i].kind != SNAPSHOT_PEAK;
}

/* The removable snapshot with the least time between its neighbours; the first of equals. */
static size_t find_narrowest(const struct snapshots *s)
{
	size_t best = 0;
	int64_t least = INT64_MAX;

	for (size_t i = 1; i + 1 < s->n; i++) {
		const int64_t span = s->items[i + 1].time - s->items[i - 1].time;

		if (is_removable(s, i) && span < least) {
			least = span;
			best = i;
		}
	}
	return best;
}

static void remove_at(struct snapshots *s, size_t i)
{
	tree_destroy(s->items[i].tree);
	memmove(s->items + i, s->items + i + 1, (s->n - i - 1) * sizeof(*s->items));
	s->n--;
}

/* Takes out half of the snapshots and returns the least interval that is left. */
static int64_t cull(struct snapshots *s)
{
	int64_t least = INT64_MAX;

	for (unsigned i = 0; i < s->max / 2; i++)
		remove_at(s, find_narrowest(s));
	for (size_t i = 1; i < s->n; i++) {
		const int64_t interval = s->items[i].time - s->items[i - 1].time;

		/* Two that could not have been removed say nothing about how dense the rest may be. */
		if ((is_removable(s, i) || is_removable(s, i - 1)) && interval < least)
			least = interval;
	}
	return least == INT64_MAX ? 0 : least;
}

/* The total that a new peak must exceed. */
static uint64_t limit_of(const struct snapshots *s, uint64_t total)
{
	const double excess = (double)total * s->peak_inaccuracy / 100;

	if (excess >= (double)(UINT64_MAX - total))
		return UINT64_MAX;
	return total + (uint64_t)excess;
}

static void become_peak(struct snapshots *s, const struct snapshot *peak)
{
	for (size_t i = 0; i < s->n; i++)
		s->items[i].kind = SNAPSHOT_NORMAL;
	s->peak_limit = limit_of(s, peak->heap + peak->extra + peak->stacks);
}

void snapshots_store(struct snapshots *s, const struct snapshot *snapshot)
{
	if (snapshot->kind == SNAPSHOT_PEAK)
		become_peak(s, snapshot);
	s->items[s->n++] = *snapshot;
	if (snapshot->tree || snapshot->kind == SNAPSHOT_PEAK || snapshots_detail_next(s))
		s->since_detailed = 0;
	else
		s->since_detailed++;
	if (s->n == s->max)
		s->min_interval = cull(s);
	s->earliest = snapshot->time + s->min_interval;
}
