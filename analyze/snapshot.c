/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "chronicle.h"

bool snapshots_init(struct snapshots *s, const struct settings *settings)
{
	*s = (struct snapshots){
		.max = settings->max_snapshots,
		.detailed_freq = settings->detailed_freq,
		.peak_inaccuracy = settings->peak_inaccuracy > 0 ? settings->peak_inaccuracy : 0,
		.narrow_interval = settings->compat != COMPAT_FIXED,
	};
	s->items = calloc(s->max, sizeof(*s->items));
	s->left = calloc(s->max, sizeof(*s->left));
	return s->items && s->left;
}

void snapshots_finish(struct snapshots *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].live);
	free(s->items);
	free(s->left);
}

static uint64_t time_between(const struct snapshot *earlier, const struct snapshot *later)
{
	return (uint64_t)later->time - (uint64_t)earlier->time;
}

/* First and last stay whatever happens, and so does the peak. */
static bool is_removable(const struct snapshots *s, size_t i)
{
	return i != 0 && i != s->n - 1 && s->items[i].kind != SNAPSHOT_PEAK;
}

static bool is_peak(const struct snapshots *s, size_t at)
{
	return s->items[s->left[at]].kind == SNAPSHOT_PEAK;
}

/* The time between the neighbours of left[at]. It only grows while others are taken out. */
static uint64_t span_at(const struct snapshots *s, size_t at)
{
	return time_between(&s->items[s->left[at - 1]], &s->items[s->left[at + 1]]);
}

/*
 * Where in left[0..n) the snapshot with the least span is, the first of equals. There is one: at
 * least 6 are left when it is asked for, of which at most 3 have to stay. While a clock of
 * milliseconds stands still nearly all spans are 0, so these are looked for first, from *still on:
 * before it there are none.
 */
static size_t find_narrowest(const struct snapshots *s, size_t n, size_t *still)
{
	size_t best = 0;

	for (; *still + 1 < n; ++*still) {
		if (!is_peak(s, *still) && span_at(s, *still) == 0)
			return *still;
	}
	for (size_t i = 1; i + 1 < n; i++) {
		if (!is_peak(s, i) && (best == 0 || span_at(s, i) < span_at(s, best)))
			best = i;
	}
	return best;
}

/* Takes out half of the snapshots. */
static void remove_half(struct snapshots *s)
{
	size_t n = s->n, still = 1;

	for (unsigned i = 0; i < n; i++)
		s->left[i] = i;
	for (unsigned i = 0; i < s->max / 2; i++) {
		const size_t at = find_narrowest(s, n, &still);

		if (s->chronicle)
			chronicle_take_out(s->chronicle, i, span_at(s, at), &s->items[s->left[at]], s->left[at]);
		free(s->items[s->left[at]].live);
		n--;
		memmove(s->left + at, s->left + at + 1, (n - at) * sizeof(*s->left));
	}
	for (size_t i = 0; i < n; i++)
		s->items[i] = s->items[s->left[i]];
	s->n = n;
}

/*
 * Makes room and returns the least interval that is left. Two neighbours that could not have been
 * removed say nothing about how dense the others may be.
 */
static uint64_t cull(struct snapshots *s)
{
	uint64_t least = UINT64_MAX;
	size_t least_at = 0;

	if (s->chronicle)
		chronicle_cull(s->chronicle);
	remove_half(s);
	for (size_t i = 1; i < s->n; i++) {
		const uint64_t interval = time_between(&s->items[i - 1], &s->items[i]);

		if (!is_removable(s, i) && !is_removable(s, i - 1)) {
			if (s->chronicle)
				chronicle_pass_over(s->chronicle, i);
		} else if (interval < least) {
			least = interval;
			least_at = i;
		}
	}
	if (s->narrow_interval)
		least = (uint32_t)least;
	if (s->chronicle)
		chronicle_culled(s->chronicle, s->items, s->n, s->max / 2, least, least_at);
	return least;
}

/* The total that a new peak must exceed. */
static uint64_t limit_of(const struct snapshots *s, uint64_t total)
{
	const double excess = (double)total * s->peak_inaccuracy / 100;

	if (excess >= (double)(UINT64_MAX - total))
		return UINT64_MAX;
	return total + (uint64_t)excess;
}

static void demote_all(struct snapshots *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->items[i].kind = SNAPSHOT_NORMAL;
}

static void become_peak(struct snapshots *s, const struct snapshot *peak)
{
	demote_all(s);
	s->peak_limit = limit_of(s, peak->heap + peak->extra + peak->stacks);
}

void snapshots_store(struct snapshots *s, const struct snapshot *snapshot)
{
	struct snapshot *stored = &s->items[s->n];

	if (snapshot->kind == SNAPSHOT_PEAK)
		become_peak(s, snapshot);
	*stored = *snapshot;
	stored->live = NULL;
	stored->detailed = snapshot->kind == SNAPSHOT_PEAK || s->since_detailed == s->detailed_freq - 1;
	s->since_detailed = stored->detailed ? 0 : s->since_detailed + 1;
	if (s->chronicle)
		chronicle_store(s->chronicle, stored, s->n);
	if (++s->n == s->max)
		s->min_interval = cull(s);
	s->earliest = (uint64_t)snapshot->time + s->min_interval;
}

struct snapshot *snapshots_set_peak(struct snapshots *s, struct snapshot *peak)
{
	size_t at = s->n;

	demote_all(s);
	while (at > 0 && s->items[at - 1].changes > peak->changes)
		at--;
	for (size_t i = at; i > 0 && s->items[i - 1].changes == peak->changes; i--) {
		if (!s->items[i - 1].detailed)
			continue;
		s->items[i - 1].kind = SNAPSHOT_PEAK;
		free(peak->live);
		peak->live = NULL;
		return &s->items[i - 1];
	}
	memmove(s->items + at + 1, s->items + at, (s->n - at) * sizeof(*s->items));
	s->items[at] = *peak;
	s->n++;
	peak->live = NULL;
	return &s->items[at];
}
