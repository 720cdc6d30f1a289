/* SPDX-License-Identifier: MIT */
#include "snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "event_log.h"

#define NO_SPAN UINT64_MAX /* the snapshot stays, or has been taken out */

/* A snapshot in a cull; what is read again and again lies together. */
struct span {
	uint64_t time;
	uint16_t before, behind; /* indices of the neighbours that have not been taken out yet */
	bool stays, taken_out;
};

bool snapshots_init(struct snapshots *s, const struct settings *settings, struct event_log *log)
{
	*s = (struct snapshots){
		.log = log,
		.max = settings->max_snapshots,
		.detailed_freq = settings->detailed_freq,
		.peak_inaccuracy = settings->peak_inaccuracy > 0 ? settings->peak_inaccuracy : 0,
		.narrow_interval = settings->compat != COMPAT_FIXED,
	};
	s->items = calloc(s->max, sizeof(*s->items));
	s->spans = calloc(s->max, sizeof(*s->spans));
	s->widths = calloc(s->max, sizeof(*s->widths));
	return s->items && s->spans && s->widths;
}

void snapshots_finish(struct snapshots *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].live);
	free(s->items);
	free(s->spans);
	free(s->widths);
}

static uint64_t time_between(const struct snapshot *earlier, const struct snapshot *later)
{
	return (uint64_t)later->time - (uint64_t)earlier->time;
}

/* The first, the last and the peak are never culled. */
static bool is_removable(const struct snapshots *s, size_t i)
{
	return i != 0 && i != s->n - 1 && s->items[i].kind != SNAPSHOT_PEAK;
}

/* Measures the time between the present neighbours of a snapshot. */
static void update_span(struct snapshots *s, size_t i)
{
	const struct span *span = &s->spans[i];
	uint64_t width;

	if (span->stays)
		return;
	width = s->spans[span->behind].time - s->spans[span->before].time;
	s->widths[i] = width < NO_SPAN ? width : NO_SPAN - 1;
}

/*
 * The next to be culled: the snapshot with the least span, the first of equals. There is one: at least 6 are left, of
 * which at most 3 have to stay. Spans only grow, so a span equal to the last one taken out can only lie behind it.
 */
static size_t find_narrowest(const struct snapshots *s, size_t last)
{
	const uint64_t *widths = s->widths;
	size_t narrowest = 0;

	for (size_t i = last + 1; last && i < s->n; i++) {
		if (widths[i] == s->last_width)
			return i;
	}
	for (size_t i = 1; i < s->n; i++)
		narrowest = widths[i] < widths[narrowest] ? i : narrowest;
	assert(narrowest != 0 && widths[narrowest] != NO_SPAN);
	return narrowest;
}

static void take_out(struct snapshots *s, size_t i)
{
	const struct span span = s->spans[i];

	assert(!span.stays && !span.taken_out && span.before < i && i < span.behind && span.behind < s->n);
	s->last_width = s->widths[i];
	s->widths[i] = NO_SPAN;
	s->spans[i].taken_out = true;
	s->spans[span.before].behind = span.behind;
	s->spans[span.behind].before = span.before;
	update_span(s, span.before);
	update_span(s, span.behind);
	free(s->items[i].live);
}

/* Closes the gaps from `at` on: keeps those of the snapshots [at, n) that have not been taken out. */
static void close_gaps(struct snapshots *s, size_t at)
{
	size_t kept = at;

	for (size_t i = at; i < s->n; i++) {
		if (s->spans[i].taken_out)
			continue;
		if (kept < i)
			s->items[kept] = s->items[i];
		kept++;
	}
	s->n = kept;
}

/* Takes out `count` snapshots, the narrowest first. */
static void remove_narrowest(struct snapshots *s, unsigned count)
{
	const size_t n = s->n;
	size_t at = 0, first = n;

	for (size_t i = 0; i < n; i++)
		s->spans[i] = (struct span){
			.time = (uint64_t)s->items[i].time,
			.before = (uint16_t)(i - 1),
			.behind = (uint16_t)(i + 1),
			.stays = !is_removable(s, i),
		};
	for (size_t i = 0; i < n; i++) {
		s->widths[i] = NO_SPAN;
		update_span(s, i);
	}
	for (unsigned i = 0; i < count; i++) {
		at = find_narrowest(s, at);
		if (s->log)
			event_log_take_out(s->log, i, s->widths[at], &s->items[at], at);
		take_out(s, at);
		first = at < first ? at : first;
	}
	close_gaps(s, first);
	assert(s->n == n - count);
}

static bool times_ascend(const struct snapshots *s)
{
	bool back = false;

	for (size_t i = 1; i < s->n; i++)
		back |= (uint64_t)s->items[i].time < (uint64_t)s->items[i - 1].time;
	return !back;
}

/*
 * The first of the latest snapshots that a cull of `count` takes out before any other, all but a peak and the last one:
 * from the snapshot before them to the last one is less time than between the neighbours of each other one that may go,
 * and spans only grow. n: there are none.
 */
static size_t find_dense(const struct snapshots *s, unsigned count)
{
	const struct snapshot *items = s->items;
	const size_t last = s->n - 1, first = last > count ? last - count : 1;
	const uint64_t end = (uint64_t)items[last].time;
	uint64_t least = NO_SPAN;

	if (!times_ascend(s))
		return s->n;
	for (size_t i = 1; i < last; i++) {
		const uint64_t width = time_between(&items[i - 1], &items[i + 1]);

		if (i >= first && end - (uint64_t)items[i - 1].time < least)
			return i;
		least = width < least && items[i].kind != SNAPSHOT_PEAK ? width : least;
	}
	return s->n;
}

/* Takes out all that may go of [at, n). */
static void remove_from(struct snapshots *s, size_t at)
{
	size_t kept = at;

	for (size_t i = at; i < s->n; i++) {
		if (!is_removable(s, i))
			s->items[kept++] = s->items[i];
		else if (s->items[i].live) /* seldom */
			free(s->items[i].live);
	}
	s->n = kept;
}

/* Takes out half of the snapshots, the narrowest first. In a growing heap these are nearly always the latest ones. */
static void remove_half(struct snapshots *s)
{
	const unsigned count = s->max / 2;
	const size_t n = s->n;

	if (!s->log) {
		remove_from(s, find_dense(s, count));
		assert(n - s->n <= count);
	}
	if (n - s->n < count)
		remove_narrowest(s, count - (unsigned)(n - s->n));
	assert(s->n == n - count);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* After a cull, for the next one. */
static void settle(struct snapshots *s)
{
	struct settled *const settled = &s->settled;
	const size_t last = s->n - 1;

	*settled = (struct settled){ .least_span = NO_SPAN, .least_interval = UINT64_MAX };
	if (s->log || s->items[last].kind == SNAPSHOT_PEAK || !times_ascend(s))
		return;
	for (size_t i = 1; i < last; i++) {
		const struct snapshot *item = &s->items[i];

		if (i + 1 < last && is_removable(s, i))
			settled->least_span = lesser(settled->least_span, time_between(item - 1, item + 1));
		if (is_removable(s, i) || is_removable(s, i - 1))
			settled->least_interval =
				lesser(settled->least_interval, time_between(item - 1, item));
	}
	settled->known = true;
}

/*
 * In a growing heap one cull is as the one before: out goes what came since, and the one before that. False: not this time,
 * and nothing is done. *least is what cull() returns.
 */
static bool cull_again(struct snapshots *s, uint64_t *least)
{
	const size_t last = s->n - 1, first = last - s->max / 2;
	struct snapshot *const item = &s->items[first];
	const bool before_stays = !is_removable(s, first - 1);
	uint64_t span = s->settled.least_span;

	if (!s->settled.known)
		return false;
	assert(first >= 2 && !s->log);
	if (!before_stays)
		span = lesser(span, time_between(item - 2, item));
	if (time_between(item - 1, &s->items[last]) >= span)
		return false;
	for (size_t i = first; i < last; i++) {
		if (s->items[i].live) /* seldom */
			free(s->items[i].live);
	}
	*item = s->items[last];
	s->n = first + 1;
	*least = s->settled.least_interval;
	if (!before_stays)
		*least = lesser(*least, time_between(item - 1, item));
	return true;
}

/*
 * Culls, and returns the least interval that is left. An interval between two snapshots that could not have been culled
 * doesn't count: it says nothing about how dense the others may be.
 */
static uint64_t cull(struct snapshots *s)
{
	uint64_t least = UINT64_MAX;
	size_t least_at = 0;

	if (cull_again(s, &least))
		return s->narrow_interval ? (uint32_t)least : least;
	if (s->log)
		event_log_cull(s->log);
	remove_half(s);
	settle(s);
	for (size_t i = 1; i < s->n; i++) {
		const uint64_t interval = time_between(&s->items[i - 1], &s->items[i]);

		if (!is_removable(s, i) && !is_removable(s, i - 1)) {
			if (s->log)
				event_log_pass_over(s->log, i);
		} else if (interval < least) {
			least = interval;
			least_at = i;
		}
	}
	if (s->narrow_interval)
		least = (uint32_t)least;
	if (s->log)
		event_log_culled(s->log, s->items, s->n, s->max / 2, least, least_at);
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

static size_t count_peaks(const struct snapshots *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->items[i].kind == SNAPSHOT_PEAK;
	return n;
}

static void demote_all(struct snapshots *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->items[i].kind = SNAPSHOT_NORMAL;
}

/* The limit is the peak itself, plus --peak-inaccuracy percent. */
static void become_peak(struct snapshots *s, const struct snapshot *peak)
{
	demote_all(s);
	s->peak_limit = limit_of(s, peak->heap + peak->extra + peak->stacks);
}

void snapshots_store(struct snapshots *s)
{
	struct snapshot *stored = &s->items[s->n];
	const uint64_t time = (uint64_t)stored->time;

	assert(s->n < s->max);
	assert(stored->kind == SNAPSHOT_PEAK || time >= s->earliest);
	if (stored->kind == SNAPSHOT_PEAK)
		become_peak(s, stored);
	s->settled.known &= stored->kind != SNAPSHOT_PEAK && (s->n == 0 || time >= (uint64_t)stored[-1].time);
	stored->live = NULL;
	stored->detailed = stored->kind == SNAPSHOT_PEAK || s->since_detailed == s->detailed_freq - 1;
	s->since_detailed = stored->detailed ? 0 : s->since_detailed + 1;
	assert(s->since_detailed < s->detailed_freq);
	if (s->log)
		event_log_store(s->log, stored, s->n);
	if (++s->n == s->max)
		s->min_interval = cull(s);
	s->earliest = time + s->min_interval;
	assert(s->n >= 1 && s->n < s->max);
	assert(!check_wanted() || count_peaks(s) <= 1);
}

/*
 * A cull takes out first what stands between two snapshots of the same time, the oldest first. If there are enough of
 * these it takes out nothing else; if one is missing, that may be the first snapshot of its time, at each cull anew.
 * The least interval stays 0 as long as two snapshots of one time are left of which one can go.
 */
bool snapshots_are_fleeting(const struct snapshots *s, uint64_t time)
{
	const size_t kept = s->max - s->max / 2;
	uint64_t here = 0, before = 0;
	size_t others = 1, i;                  /* the last snapshot always stays */
	bool close = false, goes_last = false; /* the present one goes when there are no others */

	if (s->min_interval != 0 || s->n < 2 || (uint64_t)s->items[s->n - 1].time != time)
		return false;
	for (i = 0; i < s->n && (i == 0 || here != time); i++) {
		const uint64_t next = i + 1 < s->n ? (uint64_t)s->items[i + 1].time : time;
		const bool stays = i == 0 || s->items[i].kind == SNAPSHOT_PEAK;
		const bool went_last = goes_last;

		before = here;
		here = (uint64_t)s->items[i].time;
		if (next < here)
			return false;
		goes_last = !stays && next != before;
		others += stays || goes_last;
		close |= i != 0 && here == before && (goes_last || went_last);
	}
	for (; i < s->n; i++) {
		others += s->items[i].kind == SNAPSHOT_PEAK;
		if ((uint64_t)s->items[i].time != time)
			return false;
	}
	if (others == kept + 1)
		return close && goes_last;
	return others < kept || (others == kept && (close || goes_last));
}

uint64_t snapshots_skip(struct snapshots *s, uint64_t n)
{
	const unsigned culled = s->max / 2;
	const uint64_t skipped = n < s->max ? 0 : (n - s->max) / culled * culled;

	s->since_detailed = (unsigned)((s->since_detailed + skipped) % s->detailed_freq);
	return skipped;
}

struct snapshot *snapshots_set_peak(struct snapshots *s, struct snapshot *peak)
{
	size_t at = s->n;

	assert(s->n < s->max);
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
