/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "faint_rise.h"
#include "median.h"

#define SECOND 1000000000u

enum { FEW_BUCKETS = 20, FEW_BLOCKS = 10, FEW_POINTS = 8, MOST_MEDIAN = 32, MOST_POINTS = 512 };

const char *const verdict_names[VERDICTS] = {
	[VERDICT_NONE] = "not judged", [VERDICT_ONCE] = "once",         [VERDICT_UNTIL_EXIT] = "until exit",
	[VERDICT_BOUNDED] = "bounded", [VERDICT_SAWTOOTH] = "sawtooth", [VERDICT_GROWING] = "growing",
};

struct range {
	int64_t low, high;
};

/* Of [from, to), not empty. */
static struct range range_of(const int64_t *series, uint32_t from, uint32_t to)
{
	struct range r = { series[from], series[from] };
	for (uint32_t i = from + 1; i < to; i++) {
		if (series[i] < r.low)
			r.low = series[i];
		if (series[i] > r.high)
			r.high = series[i];
	}
	return r;
}

/* Of `count` levels from `from` on, the upper one of two in the middle; 1 to MOST_MEDIAN of them. */
static double median_of(const int64_t *series, uint32_t from, uint32_t count)
{
	int64_t sorted[MOST_MEDIAN] = { series[from] };
	assert(count > 0 && count <= MOST_MEDIAN);
	for (uint32_t i = 1; i < count; i++) {
		uint32_t at = i;
		for (; at > 0 && sorted[at - 1] > series[from + i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = series[from + i];
	}
	const uint32_t middle = count / 2;
	return (double)sorted[middle];
}

/* ---- Slope ---- */

/*
 * The number of pairs of points that fall or are level, as a merge sort meets them. `sorted`, `scratch`: n items each; the
 * first begins as the series.
 */
static size_t count_falling(int64_t *sorted, int64_t *scratch, uint32_t n)
{
	size_t falling = 0;
	for (uint32_t width = 1; width < n; width *= 2) {
		for (uint32_t begin = 0; begin < n; begin += 2 * width) {
			const uint32_t middle = begin + width < n ? begin + width : n;
			const uint32_t end = middle + width < n ? middle + width : n;
			uint32_t i = begin, j = middle;
			for (uint32_t k = begin; k < end; k++) {
				/* All that is left of the first half is as high or higher. */
				const bool second = i == middle || (j < end && sorted[j] <= sorted[i]);
				falling += second ? middle - i : 0;
				scratch[k] = sorted[second ? j++ : i++];
			}
		}
		int64_t *const other = sorted;
		sorted = scratch;
		scratch = other;
	}
	return falling;
}

/*
 * Whether the lower end of the slope's 95 % interval is above 0: the slope whose rank is as far below the middle as Kendall's
 * statistic of unrelated points may lie.
 */
static bool is_rising(const int64_t *series, uint32_t from, uint32_t to)
{
	int64_t sorted[MOST_POINTS], scratch[MOST_POINTS];
	const uint32_t n = to - from;
	const double pairs = (double)n * (n - 1) / 2;
	const double spread = 1.96 * sqrt((double)n * (n - 1) * (2.0 * n + 5) / 18);
	const double rank = (pairs - spread) / 2;
	assert(n <= MOST_POINTS);
	memcpy(sorted, series + from, n * sizeof(*series));
	return count_falling(sorted, scratch, n) <= (rank > 0 ? (size_t)rank : 0);
}

/* The median of the slopes of all pairs of points, in bytes a bucket; 0 if is_rising() isn't true. False: no memory. */
static bool find_slope(const int64_t *series, uint32_t from, uint32_t to, double *slope)
{
	const size_t n = to - from, pairs = n * (n - 1) / 2;
	size_t k = 0;
	*slope = 0;
	if (!is_rising(series, from, to))
		return true;
	double *slopes = malloc((pairs + 1) * sizeof(*slopes));
	if (!slopes)
		return false;
	for (uint32_t i = from; i < to; i++) {
		for (uint32_t j = i + 1; j < to; j++)
			slopes[k++] = ((double)series[j] - (double)series[i]) / (j - i);
	}
	*slope = median_find(slopes, pairs);
	free(slopes);
	return true;
}

/* ---- Where a rise begins ---- */

/*
 * The point that lies furthest below the straight line from `start` to the last tenth's middle level, if that is a quarter of
 * the line's height or more; `start` if there is none.
 */
static uint32_t next_knee(const int64_t *series, uint32_t start, uint32_t to)
{
	const uint32_t tenth = (to - start) / 10, part = tenth ? tenth : 1, end = to - part + part / 2;
	const uint32_t until = to - (part > FEW_POINTS ? part : FEW_POINTS);
	const double first = (double)series[start], height = median_of(series, to - part, part) - first;
	const double width = end - start;
	uint32_t knee = start;
	double deepest = height / 4 * width;
	if (height <= 0 || to - start <= FEW_POINTS)
		return start;
	for (uint32_t i = start + 1; i < until; i++) {
		const double depth = (first - (double)series[i]) * width + height * (i - start);
		if (depth >= deepest) {
			deepest = depth;
			knee = i;
		}
	}
	return knee;
}

/* The last bucket of the lowest level in [from, to); behind it, if the series bends upwards there, where it last does. */
static uint32_t rise_begins(const int64_t *series, uint32_t from, uint32_t to)
{
	uint32_t start = from, knee = from;
	for (uint32_t i = from; i < to; i++) {
		if (series[i] <= series[knee])
			knee = i;
	}
	do {
		start = knee;
		knee = next_knee(series, start, to);
	} while (knee != start);
	return start;
}

/* ---- The rules ---- */

static bool is_once(const struct trend *t)
{
	uint32_t first = 0, last = 0;
	if (t->allocated != t->live)
		return false;
	while (first < t->n && t->series[first] == 0)
		first++;
	for (uint32_t i = 1; i < t->n; i++) {
		if (t->series[i] != t->series[i - 1])
			last = i;
	}
	return first >= last || last - first < t->n / 20;
}

static bool is_until_exit(const struct trend *t)
{
	const int64_t level = t->series[t->clean_up - 1];
	return t->clean_up < t->n && t->live == 0 && level > 0 && t->bytes == (uint64_t)level;
}

static bool is_bounded(const struct trend *t)
{
	const uint32_t from = t->n / 2, part = t->n / 20;
	const struct range half = range_of(t->series, from, t->clean_up);
	return t->bytes > (uint64_t)t->series[t->clean_up - 1] && half.low > 0 &&
	       (double)half.high < 1.5 * (double)half.low &&
	       median_of(t->series, t->clean_up - part, part) <= 1.1 * median_of(t->series, from, part);
}

static bool is_sawtooth(const struct trend *t)
{
	int64_t high = 0, low = 0;
	unsigned falls = 0;
	for (uint32_t i = 0; i < t->clean_up; i++) {
		const int64_t live = t->series[i];
		if (live > high)
			high = live;
		if (live < high / 2) {
			falls++;
			high = low = live;
		} else if (live < low) {
			low = live;
		}
	}
	return falls >= 2;
}

/* Whether the last third of [from, to) rises at half the slope or faster: what levels off does not. */
static bool still_rises(const int64_t *series, uint32_t from, uint32_t to, double slope)
{
	const uint32_t third = (to - from) / 3, tenth = (to - from) / 10, part = tenth ? tenth : 1;
	const double rise = median_of(series, to - part, part) - median_of(series, to - third, part);
	return rise >= slope / 2 * (third - part);
}

static bool last_third_is_higher(const int64_t *series, uint32_t from, uint32_t to)
{
	const uint32_t third = (to - from) / 3;
	return range_of(series, to - third, to).low > range_of(series, from, from + third).high;
}

/* Whether what is behind the middle of the run is above all that was before. */
static bool is_late(const struct trend *t)
{
	const uint32_t middle = t->n / 2, end = t->clean_up;
	return range_of(t->series, end - (end - middle) / 3, end).low > range_of(t->series, 0, middle).high;
}

/* Whether [from, to) may grow, and from where on. */
static bool find_rise(const int64_t *series, uint32_t from, uint32_t to, uint32_t *start)
{
	if (!last_third_is_higher(series, from, to))
		return false;
	*start = rise_begins(series, from, to);
	return last_third_is_higher(series, *start, to);
}

/* Judges the buckets from `from` to the clean-up. False: no memory. */
static bool judge_growth(const struct trend *t, uint32_t from, struct judgement *j)
{
	const uint32_t to = t->clean_up;
	uint32_t start;
	double slope;
	if (!find_rise(t->series, from, to, &start) || !is_rising(t->series, start + (to - start) / 2, to))
		return true;
	if (!find_slope(t->series, start, to, &slope))
		return false;
	if (slope > 0 && still_rises(t->series, start, to, slope)) {
		j->verdict = VERDICT_GROWING;
		j->slope = slope * SECOND / (double)t->span_ns;
		j->since_ns = t->begin_ns + (start + 1) * t->span_ns;
	}
	return true;
}

static struct faint_rise find_faint_rise(const struct trend *t)
{
	return faint_rise_find(t->series, t->n / 10, t->clean_up);
}

/* Of what grows already, only the slope: without the jumps in its rise. */
static void judge_faint_rise(const struct trend *t, struct judgement *j)
{
	const struct faint_rise rise = find_faint_rise(t);
	if (rise.slope <= 0 ||
	    (j->verdict == VERDICT_GROWING && t->begin_ns + (rise.last_jump + 1) * t->span_ns <= j->since_ns))
		return;
	j->verdict = VERDICT_GROWING;
	j->slope = rise.slope * SECOND / (double)t->span_ns;
	j->since_ns = t->begin_ns + (t->n / 10 + 1) * t->span_ns;
}

/* As long as the run has lasted, or late and above all that was before, or hidden. False: no memory. */
static bool find_growth(const struct trend *t, struct judgement *j)
{
	if (t->allocated < FEW_BLOCKS)
		return true;
	if (!judge_growth(t, t->n / 10, j) ||
	    (j->verdict == VERDICT_NONE && is_late(t) && !judge_growth(t, t->n / 2, j)))
		return false;
	judge_faint_rise(t, j);
	return true;
}

/* Whether more than half of the pairs of points in [from, to) rise by `slope` a bucket or less. */
static bool most_are_slower(const int64_t *series, uint32_t from, uint32_t to, int64_t slope)
{
	int64_t levels[MOST_POINTS], scratch[MOST_POINTS];
	const uint32_t n = to - from;
	assert(n <= MOST_POINTS);
	for (uint32_t i = 0; i < n; i++) {
		if (__builtin_sub_overflow(series[from + i], slope * i, &levels[i]))
			return false;
	}
	return count_falling(levels, scratch, n) > (size_t)n * (n - 1) / 4;
}

/*
 * Of all pairs of k points, more than half are a quarter of k or more apart. So one of these has the median slope or a
 * larger one, and rises by no more than the range.
 */
static bool growth_is_slower(const struct trend *t, uint32_t from, double slope)
{
	const uint32_t to = t->clean_up;
	uint32_t start;
	if (!find_rise(t->series, from, to, &start))
		return true;
	const uint32_t quarter = (to - start) / 4;
	const struct range all = range_of(t->series, start, to);
	if (((double)all.high - (double)all.low) / (quarter ? quarter : 1) <= slope)
		return true;
	return slope < 1e15 && most_are_slower(t->series, start, to, (int64_t)slope);
}

bool verdict_is_slower(const struct trend *t, double slope)
{
	const double bucket = slope * (1 - 1e-9) * (double)t->span_ns / SECOND;
	if (t->n < FEW_BUCKETS)
		return true;
	return growth_is_slower(t, t->n / 10, bucket) &&
	       (!is_late(t) || growth_is_slower(t, t->n / 2, bucket)) && find_faint_rise(t).slope <= bucket;
}

uint32_t verdict_clean_up(const int64_t *levels, uint32_t n)
{
	uint32_t first = n;
	while (first > 1 && n - first < n / 20 && levels[first - 1] <= levels[first - 2])
		first--;
	while (first < n && first > 0 && levels[first] == levels[first - 1])
		first++;
	return first;
}

/* What the clean-up leaves; of what it frees for more than a half, what was there before. */
static uint64_t bytes_of(const struct trend *t)
{
	const int64_t before = t->series[t->clean_up - 1], end = t->series[t->n - 1];
	return (uint64_t)(end < before - before / 2 ? before : end);
}

bool verdict_is_long_enough(uint32_t n, uint64_t span_ns)
{
	return n >= FEW_BUCKETS && n * span_ns >= SECOND;
}

bool verdict_judge(const struct trend *t, struct judgement *j)
{
	*j = (struct judgement){ 0 };
	assert(t->clean_up <= t->n && t->clean_up >= t->n - t->n / 20);
	if (t->n)
		j->bytes = bytes_of(t);
	if (!verdict_is_long_enough(t->n, t->span_ns))
		return true;
	if (is_once(t))
		j->verdict = VERDICT_ONCE;
	else if (!find_growth(t, j))
		return false;
	if (j->verdict == VERDICT_NONE && is_until_exit(t))
		j->verdict = VERDICT_UNTIL_EXIT;
	if (j->verdict == VERDICT_NONE && is_sawtooth(t))
		j->verdict = VERDICT_SAWTOOTH;
	if (j->verdict == VERDICT_NONE && is_bounded(t))
		j->verdict = VERDICT_BOUNDED;
	return true;
}
