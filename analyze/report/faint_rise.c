/* SPDX-License-Identifier: MIT */
/*
 * The levels between jumps are cut into parts, of which the medians are looked at. What is said of pairs of parts is said of
 * those with one base, so no jump has a say.
 */
#include "faint_rise.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "median.h"

enum {
	FEWEST = 60, /* levels */
	PARTS = 30,
	WINDOWS = 20,   /* of a jump's levels before it and behind it, in the series */
	JUMPS_MOST = 4, /* beyond these, jumps are what the series is made of */
	PARTS_FEWEST = 4,
	NEW_JUMPS = 2, /* with so many more, levels that do not rise explain the series */
};

/* In median deviations of the levels from those around them: beyond what noise does; what is worth a verdict. */
#define JUMP 4.0
#define HIGH 3.0
/* In median deviations of the changes from window to window: beyond what noise that drifts does. */
#define STANDS_OUT 7.0
/* Kendall's statistic in standard deviations: of all, so that of thousands of series hardly one is wrong; of the second half. */
#define CERTAIN 3.2
#define LIKELY 1.0

struct jump {
	uint32_t at; /* the first level behind it, as far as that can be told */
	double change;
	uint32_t base; /* what is behind it: 0, which is before all jumps, or a jump's number from 1 on */
	bool back;     /* another one takes it back */
};

struct part {
	double at, level;
	uint32_t base; /* jump.base: those of one have no jump between that is still there */
};

struct parts {
	struct part items[PARTS];
	uint32_t n;
};

/* Of a window's levels or a part's, which are few: an insertion sort. */
static double median_level(const int64_t *series, uint32_t n)
{
	int64_t sorted[FAINT_RISE_MOST / WINDOWS + 1] = { series[0] };
	assert(n > 0 && n <= sizeof(sorted) / sizeof(*sorted));
	for (uint32_t i = 1; i < n; i++) {
		uint32_t at = i;
		for (; at > 0 && sorted[at - 1] > series[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = series[i];
	}
	const uint32_t below = (n - 1) / 2, above = n / 2;
	return ((double)sorted[below] + (double)sorted[above]) / 2;
}

/* ---- Most series ---- */

/* Whether the last third is higher than the first one, by as much as any rise worth a look. */
static bool may_rise(const int64_t *series, uint32_t n)
{
	const uint32_t third = n / 3;
	double first = 0, last = 0;
	int64_t low = series[0], high = series[0];
	for (uint32_t i = 0; i < third; i++) {
		first += (double)series[i];
		last += (double)series[n - 1 - i];
	}
	for (uint32_t i = 0; i < n; i++) {
		low = series[i] < low ? series[i] : low;
		high = series[i] > high ? series[i] : high;
	}
	return last - first > ((double)high - (double)low) / 50 * third;
}

/* ---- Jumps ---- */

/* Whether a window around `at` has to do with one of the jumps. */
static bool is_near(const struct jump *jumps, uint32_t n, uint32_t at, uint32_t window)
{
	for (uint32_t i = 0; i < n; i++) {
		if (at < jumps[i].at + window && jumps[i].at < at + window)
			return true;
	}
	return false;
}

/* The largest change of [from, to), not near the jumps that are known. False: it is `least`, 0 or more, or less. */
static bool next_jump(const double *changes, uint32_t from, uint32_t to, double least,
		      const struct jump *jumps, uint32_t n, struct jump *found)
{
	uint32_t low, high;
	*found = (struct jump){ 0 };
	for (uint32_t i = from; i < to; i++) {
		if (fabs(changes[i]) > fabs(found->change) && !is_near(jumps, n, i, from))
			*found = (struct jump){ .at = i, .change = changes[i] };
	}
	if (fabs(found->change) <= least)
		return false;
	/* Noise moves the largest one; in the middle of those that are half as large is the jump. */
	for (low = found->at; low > from && changes[low - 1] / found->change > .5;)
		low--;
	for (high = found->at; high + 1 < to && changes[high + 1] / found->change > .5;)
		high++;
	found->at = (low + high + 1) / 2;
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* The last jump before number `i` that this one takes back; NULL: there is none. */
static struct jump *taken_back(struct jump *jumps, uint32_t i)
{
	for (uint32_t k = i; k-- > 0;) {
		if (jumps[k].change > 0 && !jumps[k].back &&
		    fabs(jumps[k].change + jumps[i].change) < jumps[k].change / 4)
			return &jumps[k];
	}
	return NULL;
}

/*
 * Finds what lies behind each jump. False: one falls that takes back no jump before it, as each tooth of a saw does, so what
 * rose slowly has come down. What it takes back but for `least` is as if it had not been.
 */
static bool find_bases(struct jump *jumps, uint32_t n, double least)
{
	for (uint32_t i = 0; i < n; i++) {
		struct jump *const up = taken_back(jumps, i);
		bool gone = up && fabs(up->change + jumps[i].change) <= least;
		jumps[i].base = i + 1;
		if (jumps[i].change > 0)
			continue;
		if (!up)
			return false;
		up->back = true;
		for (const struct jump *k = up; k < &jumps[i]; k++)
			gone &= k->back || k->change < 0;
		if (gone)
			jumps[i].base = up == jumps ? 0 : up[-1].base;
	}
	return true;
}

/*
 * The median of what levels differ from those around them, where they do: a program that waits has no noise. middle[i] becomes
 * the middle level of the window that begins with level i.
 */
static double find_noise(const int64_t *series, uint32_t n, uint32_t window, double *middle)
{
	double deviations[FAINT_RISE_MOST];
	uint32_t differ = 0;
	for (uint32_t i = 0; i + window <= n; i++) {
		const uint32_t centre = i + window / 2;
		middle[i] = median_level(series + i, window);
		const double deviation = fabs((double)series[centre] - middle[i]);
		deviations[differ] = deviation;
		differ += deviation > 0;
	}
	return differ ? median_find(deviations, differ) : 0;
}

/* Finds the jumps, in order of time, and the noise. False: there are too many, or some that no rise has beside it. */
static bool find_jumps(const int64_t *series, uint32_t n, struct jump *jumps, uint32_t *n_jumps,
		       double *noise)
{
	const uint32_t window = n / WINDOWS, end = n - window + 1;
	double middle[FAINT_RISE_MOST], changes[FAINT_RISE_MOST], sorted[FAINT_RISE_MOST];
	*noise = find_noise(series, n, window, middle);
	for (uint32_t i = window; i < end; i++)
		sorted[i - window] = changes[i] = middle[i] - middle[i - window];
	/* A steady rise changes everywhere. */
	const double steady = median_find(sorted, end - window);
	for (uint32_t i = window; i < end; i++)
		sorted[i - window] = fabs(changes[i] - steady);
	const double spread = STANDS_OUT * median_find(sorted, end - window);
	const double least = (JUMP * *noise > spread ? JUMP * *noise : spread) + 3 * fabs(steady);
	struct jump jump;
	*n_jumps = 0;
	while (next_jump(changes, window, end, least, jumps, *n_jumps, &jump)) {
		if (*n_jumps == JUMPS_MOST)
			return false;
		jumps[(*n_jumps)++] = jump;
	}
	qsort(jumps, *n_jumps, sizeof(*jumps), compare_places);
	return find_bases(jumps, *n_jumps, least);
}

/* ---- Parts ---- */

/* Adds the parts of [from, to), which has no jump; a few say nothing. */
static void add_parts(struct parts *parts, const int64_t *series, uint32_t from, uint32_t to, uint32_t size,
		      uint32_t base)
{
	const uint32_t n = to > from ? (to - from) / size : 0;
	for (uint32_t i = 0; i < n && n >= PARTS_FEWEST && parts->n < PARTS; i++, from += size)
		parts->items[parts->n++] = (struct part){ .at = from + (size - 1) / 2.0,
							  .level = median_level(series + from, size),
							  .base = base };
}

/* Half a window on both sides of a jump is in no part: the jump is somewhere there. */
static void make_parts(struct parts *parts, const int64_t *series, uint32_t n, const struct jump *jumps,
		       uint32_t n_jumps)
{
	const uint32_t half = n / WINDOWS / 2 + 1, size = (n + PARTS - 1) / PARTS;
	uint32_t from = 0;
	parts->n = 0;
	for (uint32_t i = 0; i <= n_jumps; i++) {
		add_parts(parts, series, from, i < n_jumps ? jumps[i].at - half : n, size,
			  i ? jumps[i - 1].base : 0);
		from = i < n_jumps ? jumps[i].at + half : n;
	}
}

/* ---- The rise ---- */

struct rise {
	double slope;     /* a level: the median of those of all pairs */
	double certainty; /* Kendall's statistic in its standard deviations */
};

/* Of the parts from `first` on. */
static struct rise measure(const struct parts *parts, uint32_t first)
{
	double slopes[PARTS * (PARTS - 1) / 2], variance = 0;
	uint32_t n = 0, n_of[JUMPS_MOST + 1] = { 0 };
	int balance = 0;
	for (uint32_t i = first; i < parts->n; i++) {
		const struct part *p = &parts->items[i];
		n_of[p->base]++;
		for (uint32_t k = first; k < i; k++) {
			const struct part *q = &parts->items[k];
			if (q->base != p->base)
				continue;
			const double slope = (p->level - q->level) / (p->at - q->at);
			slopes[n++] = slope;
			balance += (slope > 0) - (slope < 0);
		}
	}
	for (uint32_t i = 0; i <= JUMPS_MOST; i++) {
		const double size = n_of[i];
		variance += size * (size - 1) * (2 * size + 5) / 18;
	}
	return n ? (struct rise){ median_find(slopes, n), balance / sqrt(variance) } : (struct rise){ 0, 0 };
}

/* What is left of the parts without the slope and the mean of all that have their base. */
static void find_rest(const struct parts *parts, double slope, double *rest)
{
	double sum[JUMPS_MOST + 1] = { 0 };
	uint32_t n_of[JUMPS_MOST + 1] = { 0 };
	for (uint32_t i = 0; i < parts->n; i++) {
		const struct part *p = &parts->items[i];
		sum[p->base] += rest[i] = p->level - slope * p->at;
		n_of[p->base]++;
	}
	for (uint32_t i = 0; i < parts->n; i++)
		rest[i] -= sum[parts->items[i].base] / n_of[parts->items[i].base];
}

static double squares(const double *rest, uint32_t n)
{
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += rest[i] * rest[i];
	return sum;
}

/* How many times more variance than that of unrelated parts: neighbours that are alike say less than two. */
static double dependence(const struct parts *parts, const double *rest)
{
	const double all = squares(rest, parts->n);
	double product = 0;
	for (uint32_t i = 1; i < parts->n; i++) {
		if (parts->items[i].base == parts->items[i - 1].base)
			product += rest[i] * rest[i - 1];
	}
	/* A line that was fitted makes the rest look less alike than it is. */
	const double alike = all > 0 ? product / all + 2.0 / parts->n : 0;
	return alike <= 0 ? 1 : alike < .95 ? (1 + alike) / (1 - alike) : 39;
}

/* ---- The alternative: levels that jump and do not rise ---- */

/* The squares of what [from, to) differs from its mean. */
static double flat_squares(const struct parts *parts, uint32_t from, uint32_t to)
{
	double sum = 0, all = 0;
	for (uint32_t i = from; i < to; i++)
		sum += parts->items[i].level;
	for (uint32_t i = from; i < to; i++) {
		const double rest = parts->items[i].level - sum / (to - from);
		all += rest * rest;
	}
	return all;
}

/* Makes best[k] the least squares of all parts with k jumps beside those that are known. */
static void fit_jumps(const struct parts *parts, double best[NEW_JUMPS + 1])
{
	double until[PARTS + 1][NEW_JUMPS + 1]; /* of the parts before this one */
	for (uint32_t to = 0; to <= parts->n; to++) {
		for (uint32_t k = 0; k <= NEW_JUMPS; k++)
			until[to][k] = to ? INFINITY : 0;
		/* The last level is that of [from, to). */
		for (uint32_t from = to;
		     from-- > 0 && parts->items[from].base == parts->items[to - 1].base;) {
			const bool jump = from && parts->items[from - 1].base == parts->items[from].base;
			const double squares = flat_squares(parts, from, to);
			for (uint32_t k = jump; k <= NEW_JUMPS; k++) {
				const double sum = until[from][k - jump] + squares;
				until[to][k] = sum < until[to][k] ? sum : until[to][k];
			}
		}
	}
	memcpy(best, until[parts->n], sizeof(until[0]));
}

/* Schwarz' criterion but for what all models share: the less, the better. */
static double criterion(double squares, uint32_t n, uint32_t parameters)
{
	return n * log(squares / n) + parameters * log(n);
}

/* Whether a slope explains the parts better than jumps do, each of which has a place and a height. */
static bool beats_jumps(const struct parts *parts, double rest)
{
	double best[NEW_JUMPS + 1];
	fit_jumps(parts, best);
	for (uint32_t k = 0; k <= NEW_JUMPS; k++) {
		if (criterion(best[k], parts->n, 2 * k) <= criterion(rest, parts->n, 1))
			return false;
	}
	return true;
}

/* ---- All of it ---- */

/* The first part in the second half of n levels. */
static uint32_t second_half(const struct parts *parts, uint32_t n)
{
	const uint32_t half = n / 2;
	uint32_t i = 0;
	while (i < parts->n && parts->items[i].at < half)
		i++;
	return i;
}

struct faint_rise faint_rise_find(const int64_t *series, uint32_t from, uint32_t to)
{
	static const struct faint_rise none;
	const uint32_t n = to - from;
	struct jump jumps[JUMPS_MOST];
	struct parts parts;
	double rest[PARTS], noise;
	uint32_t n_jumps;
	assert(from <= to && n <= FAINT_RISE_MOST);
	if (n < FEWEST || !may_rise(series + from, n) ||
	    !find_jumps(series + from, n, jumps, &n_jumps, &noise))
		return none;
	make_parts(&parts, series + from, n, jumps, n_jumps);
	if (parts.n < PARTS / 2)
		return none;
	const struct rise all = measure(&parts, 0), late = measure(&parts, second_half(&parts, n));
	if (all.certainty < CERTAIN || late.certainty < LIKELY || late.slope < all.slope / 2 ||
	    all.slope * n < HIGH * noise)
		return none;
	find_rest(&parts, all.slope, rest);
	if (all.certainty < CERTAIN * sqrt(dependence(&parts, rest)) ||
	    !beats_jumps(&parts, squares(rest, parts.n)))
		return none;
	return (struct faint_rise){ all.slope, n_jumps ? from + jumps[n_jumps - 1].at : 0 };
}
