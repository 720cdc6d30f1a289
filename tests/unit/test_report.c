/* SPDX-License-Identifier: MIT */
/* The pure parts of msreport: histograms, verdicts, steps, figures, widths, durations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "duration.h"
#include "figures.h"
#include "histogram.h"
#include "observer_list.h"
#include "short_name.h"
#include "span_query.h"
#include "spread.h"
#include "stack_sums.h"
#include "steps.h"
#include "suppressions.h"
#include "verdict.h"
#include "width.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define SECOND 1000000000u

/* ---- Histograms ---- */

static void classes_cover_all_values(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HISTOGRAM_CLASSES; i++) {
		assert_int_equal(histogram_class(histogram_from(i)), i);
		if (i)
			assert_int_equal(histogram_class(histogram_from(i) - 1), i - 1);
	}
	assert_int_equal(histogram_class(UINT64_MAX), HISTOGRAM_CLASSES - 1);
}

/* The quantile of values that are given by class. */
static uint64_t quantile(const uint32_t *counts, double share)
{
	uint64_t all = 0, below = 0;
	for (unsigned i = 0; i < HISTOGRAM_CLASSES; i++)
		all += counts[i];
	const uint64_t rank = (uint64_t)ceil((double)all * share);
	for (unsigned i = 0; i < HISTOGRAM_CLASSES; i++) {
		below += counts[i];
		if (below && below >= rank)
			return histogram_from(i);
	}
	return 0;
}

static uint64_t chance(void)
{
	static uint64_t chances = 1;
	chances = chances * 6364136223846793005u + 1442695040888963407u;
	return chances >> 33;
}

/* Many histograms that grow at both ends, by values and by others, and take each other's pages. */
static void histograms_do_not_mix(void **state)
{
	enum { N = 40, VALUES = 4000 };
	static uint32_t counts[N][HISTOGRAM_CLASSES];
	struct histogram histograms[N] = { 0 };
	struct histogram_pages pages = { 0 };
	(void)state;
	for (unsigned i = 0; i < VALUES; i++) {
		const unsigned k = chance() % N, from = chance() % N;
		const uint64_t value = (chance() << 33 | chance() << 2) >> chance() % 64;
		assert_true(histogram_add(&histograms[k], &pages, value, 1 + k));
		counts[k][histogram_class(value)] += 1 + k;
		if (i % 100)
			continue;
		/* A copy, as pages of others move. */
		struct histogram_pages others = { 0 };
		struct histogram copy = { 0 };
		assert_true(histogram_merge(&copy, &others, &histograms[from], &pages));
		assert_true(histogram_merge(&histograms[k], &pages, &copy, &others));
		for (unsigned c = 0; c < HISTOGRAM_CLASSES; c++)
			counts[k][c] += counts[from][c];
		histogram_pages_finish(&others);
	}
	for (unsigned k = 0; k < N; k++) {
		for (unsigned share = 0; share <= 64; share++)
			assert_int_equal(histogram_quantile(&histograms[k], &pages, share / 64.),
					 quantile(counts[k], share / 64.));
	}
	/* Pages that were outgrown are used again: these take less than two and a half times what they need. */
	assert_true(pages.n <= 1 + 5 * N * HISTOGRAM_PAGES / 2);
	histogram_pages_finish(&pages);
}

static void quantiles_are_those_of_the_values(void **state)
{
	struct histogram_pages pages = { 0 }, others = { 0 };
	struct histogram h = { 0 }, all = { 0 };
	(void)state;
	assert_int_equal(histogram_quantile(&h, &pages, .5), 0);
	for (uint64_t i = 0; i < 100; i++)
		assert_true(histogram_add(&h, &pages, i < 51 ? 5 : 1000000, 1));
	assert_int_equal(histogram_quantile(&h, &pages, .5), 5);
	assert_int_equal(histogram_quantile(&h, &pages, .51), 5);
	assert_int_equal(histogram_quantile(&h, &pages, .52), 917504);
	assert_true(histogram_merge(&all, &others, &h, &pages));
	assert_true(histogram_merge(&all, &others, &h, &pages));
	assert_int_equal(histogram_quantile(&all, &others, .51), 5);
	assert_int_equal(histogram_quantile(&all, &others, 1), 917504);
	/* A count stops at its largest number. */
	assert_true(histogram_add(&all, &others, 5, UINT64_MAX));
	assert_true(histogram_add(&all, &others, 5, 1));
	assert_int_equal(histogram_quantile(&all, &others, 1. - 99. / UINT32_MAX), 5);
	assert_int_equal(histogram_quantile(&all, &others, 1. - 97. / UINT32_MAX), 917504);
	histogram_pages_finish(&pages);
	histogram_pages_finish(&others);
}

/* ---- Observers ---- */

static void a_replay_has_as_many_observers_as_are_added(void **state)
{
	enum { MANY = 1000 };
	struct observer observers[MANY];
	struct observer_list list = { 0 };
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		assert_true(observer_list_add(&list, &observers[i]));
	assert_int_equal(list.n, MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_ptr_equal(list.items[i], &observers[i]);
	observer_list_finish(&list);
	assert_int_equal(list.n, 0);
}

/* ---- Verdicts ---- */

enum { BUCKETS = 200 };

/* `bytes` were allocated in all; the series is that of all live bytes, too. */
static enum verdict judge_bytes(const int64_t *series, uint64_t allocated, uint64_t live, uint64_t bytes,
				struct judgement *j)
{
	const struct trend trend = {
		.series = series,
		.n = BUCKETS,
		.clean_up = verdict_clean_up(series, BUCKETS),
		.span_ns = SECOND / 10,
		.allocated = allocated,
		.live = live,
		.bytes = bytes,
	};
	assert_true(verdict_judge(&trend, j));
	return j->verdict;
}

static enum verdict judge(const int64_t *series, uint64_t allocated, uint64_t live, struct judgement *j)
{
	return judge_bytes(series, allocated, live, allocated * 1000, j);
}

static void a_slow_leak_under_noise_grows(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	/* 100 bytes a bucket, 60,000 bytes a minute, from bucket 50 on, beside noise of 2000 bytes. */
	for (int i = 0; i < BUCKETS; i++)
		series[i] = 5000 + (i > 50 ? (i - 50) * 100 : 0) + i * 7919 % 2000;
	assert_int_equal(judge(series, 100000, 200, &j), VERDICT_GROWING);
	assert_in_range(j.slope, 900, 1100);
	/* The noise alone has no verdict of growth. */
	for (int i = 0; i < BUCKETS; i++)
		series[i] = 5000 + i * 7919 % 2000;
	assert_int_equal(judge(series, 100000, 200, &j), VERDICT_BOUNDED);
}

static void a_cache_that_levels_off_is_bounded(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		series[i] = i < 60 ? i * 1000 : 60000 - i * 7919 % 500;
	assert_int_equal(judge(series, 5000, 60, &j), VERDICT_BOUNDED);
}

static void tables_of_the_start_came_once(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		series[i] = i < 3 ? i * 1000 : 3000;
	assert_int_equal(judge(series, 12, 12, &j), VERDICT_ONCE);
	assert_int_not_equal(judge(series, 13, 12, &j), VERDICT_ONCE);
}

static void batches_are_a_sawtooth(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		series[i] = i % 50 * 1000;
	assert_int_equal(judge(series, 5000, 49, &j), VERDICT_SAWTOOTH);
}

static void names_are_shortened(void **state)
{
	static const struct {
		const char *name, *shorter;
		unsigned most;
	} cases[] = {
		{ "f(int)", "f(int)", 6 },
		{ "function(int, char)", "function", 10 },
		{ "a::vector<std::pair<int, int> >::grow(int)", "a::vector<...>::grow", 24 },
		{ "<my::Body as other::Decodable<D>>::decode", "my::Body::decode", 20 },
		{ "<my::Body>::decode_all_of_it", "my::Body::decode_all_of_it", 27 },
		{ "<fn(u8) -> my::Out as Call<u8>>::call", "fn(u8) -> my::Out::call", 25 },
		{ "<my::Vec<my::Element> as Trait>::f", "my::Vec<...>::f", 16 },
		{ "a::(anonymous namespace)::make(int)", "a::(anonymous namespace)::make", 31 },
		{ "(anonymous namespace)::make(int)", "(anonymous namespace)::make", 29 },
		{ "a::operator()(int) const", "a::operator()", 14 },
		{ "a::{lambda(int)#1}::operator()(int) const", "a::{lambda(int)#1}::operator()", 32 },
		{ "a{(", "a{", 2 },
		{ "[libgcrypt.so.20.4.1+0x133c0]", "[libgcr...+0x133c0]", 19 },
		{ "[libgcrypt.so.20.4.1+0x133c0]", "[libg...", 8 },
		{ "[a+0x123456789012345678901234567890]", "[a+0...", 7 },
		{ "<unclosed as it may be in a hostile trace", "<unclose...", 11 },
		{ "<", "<", 1 },
		{ "", "", 1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name = short_name(strdup(cases[i].name), cases[i].most, "...");
		assert_string_equal(name, cases[i].shorter);
		free(name);
	}
}

static void no_growth_is_slower_than_itself(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	unsigned grow = 0, slower = 0;
	(void)state;
	/* Rises that begin later and later, as steep as they can be, with and without noise. */
	for (int start = 0; start < 150; start++) {
		for (int noise = 1; noise < 2000; noise += 666) {
			for (int i = 0; i < BUCKETS; i++)
				series[i] = 5000 + (i > start ? (i - start) * 100 : 0) + i * i * 7919 % noise;
			const struct trend trend = { .series = series,
						     .n = BUCKETS,
						     .clean_up = verdict_clean_up(series, BUCKETS),
						     .span_ns = SECOND / 10 };
			grow += judge(series, 100000, 200, &j) == VERDICT_GROWING;
			for (double factor = .5; j.slope > 0 && factor < 1; factor += .0999)
				assert_false(verdict_is_slower(&trend, j.slope * factor));
			slower += j.slope > 0 && verdict_is_slower(&trend, j.slope * 1.2 + 10);
		}
	}
	assert_true(grow > 100);
	assert_true(slower > grow / 2);
}

static void short_runs_are_not_judged(void **state)
{
	static const int64_t series[BUCKETS] = { 0 };
	const struct trend trend = {
		.series = series, .n = BUCKETS, .clean_up = BUCKETS, .span_ns = SECOND / 1000
	};
	struct judgement j;
	(void)state;
	assert_true(verdict_judge(&trend, &j));
	assert_int_equal(j.verdict, VERDICT_NONE);
}

static void what_was_freed_at_the_exit_is_judged_before(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		series[i] = i < 195 ? i * 100 : (BUCKETS - 1 - i) * 1000;
	assert_int_equal(verdict_clean_up(series, BUCKETS), 195);
	assert_int_equal(judge(series, 195, 0, &j), VERDICT_GROWING);
	assert_int_equal(j.bytes, 19400);
	assert_int_equal(judge(series, 9, 0, &j), VERDICT_NONE);
	for (int i = 0; i < 195; i++)
		series[i] = i < 5 ? 0 : 7000;
	assert_int_equal(judge_bytes(series, 7, 0, 7000, &j), VERDICT_UNTIL_EXIT);
	assert_int_equal(judge_bytes(series, 8, 0, 8000, &j), VERDICT_BOUNDED);
	assert_int_not_equal(judge_bytes(series, 8, 1, 7000, &j), VERDICT_UNTIL_EXIT);
}

static void a_clean_up_is_short_and_only_falls(void **state)
{
	int64_t levels[BUCKETS];
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		levels[i] = i < 150 ? 5000 : 5000 - (i - 149) * 10;
	assert_int_equal(verdict_clean_up(levels, BUCKETS), BUCKETS - BUCKETS / 20);
	levels[198] = 6000;
	assert_int_equal(verdict_clean_up(levels, BUCKETS), 199);
	levels[199] = 6000;
	assert_int_equal(verdict_clean_up(levels, BUCKETS), BUCKETS);
	assert_int_equal(verdict_clean_up(levels, 1), 1);
	assert_int_equal(verdict_clean_up(levels, 0), 0);
}

static void what_outlives_the_clean_up_is_judged_at_the_end(void **state)
{
	int64_t levels[BUCKETS], series[BUCKETS];
	struct judgement j;
	struct trend trend = {
		.series = series, .n = BUCKETS, .span_ns = SECOND / 10, .allocated = 200, .live = 200
	};
	(void)state;
	/* The noise of other stacks falls at the end; a leak's last block comes within that stretch. */
	for (int i = 0; i < BUCKETS; i++) {
		levels[i] = 90000 + (i < 196 ? i : 196 * 2 - i) * 100;
		series[i] = (i + 1) * 100;
	}
	trend.clean_up = verdict_clean_up(levels, BUCKETS);
	assert_int_equal(trend.clean_up, 197);
	assert_true(verdict_judge(&trend, &j));
	assert_int_equal(j.verdict, VERDICT_GROWING);
	assert_int_equal(j.bytes, 20000);
	/* The clean-up takes some of it, less than half; more than half. */
	series[199] = 10000;
	assert_true(verdict_judge(&trend, &j));
	assert_int_equal(j.bytes, 10000);
	series[199] = 9000;
	assert_true(verdict_judge(&trend, &j));
	assert_int_equal(j.bytes, 19700);
}

static void what_levels_off_does_not_grow(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	/* It grows until two thirds of the run, and stays. */
	for (int i = 0; i < BUCKETS; i++)
		series[i] = i < 130 ? i * 100 : 13000;
	assert_int_equal(judge(series, 130, 130, &j), VERDICT_NONE);
	for (int i = 0; i < BUCKETS; i++)
		series[i] = i < 80 ? i * 100 : 8000;
	assert_int_equal(judge(series, 130, 80, &j), VERDICT_BOUNDED);
}

static void a_leak_that_begins_late_grows(void **state)
{
	int64_t series[BUCKETS];
	struct judgement j;
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		series[i] = 5000 + (i > 120 ? (i - 120) * 30 : 0);
	assert_int_equal(judge(series, 10000, 100, &j), VERDICT_GROWING);
	assert_in_range(j.since_ns, 11 * (uint64_t)SECOND, 13 * (uint64_t)SECOND);
	/* What was as high before has only come back; and it isn't bounded while it rises. */
	series[20] = 9000;
	assert_int_equal(judge(series, 10000, 100, &j), VERDICT_NONE);
}

/* Of 0 to 1, the same each time. */
static double noise_at(uint32_t seed, uint32_t i)
{
	uint32_t x = (seed + 1) * 2654435761u ^ i * 2246822519u;
	x = (x ^ x >> 15) * 3266489917u;
	x ^= x >> 13;
	return (double)(x & 0xffff) / 0x10000;
}

enum { SEEDS = 50 };

/*
 * Of SEEDS series of `shape` beside noise, those that grow. Their slopes are within `part` of `slope` bytes a second, if that
 * isn't 0.
 */
static unsigned count_growing(double (*shape)(unsigned i), unsigned noise, double slope, double part)
{
	int64_t series[BUCKETS];
	struct judgement j;
	unsigned n = 0;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		for (unsigned i = 0; i < BUCKETS; i++)
			series[i] = (int64_t)(10000 + shape(i) + noise * noise_at(seed, i));
		if (judge(series, 100000, 200, &j) != VERDICT_GROWING)
			continue;
		n++;
		assert_true(slope == 0 || (j.slope > slope * (1 - part) && j.slope < slope * (1 + part)));
	}
	return n;
}

static double level(unsigned i)
{
	(void)i;
	return 0;
}

static double leak(unsigned i)
{
	return 100.0 * i;
}

/* An index that is built in the last fifth. */
static double late_rise(unsigned i)
{
	return i < 160 ? 0 : 1000.0 * (i - 160);
}

/* Another level from 80, 75, 55, 30 and 15 % on. */
static double late_jump(unsigned i)
{
	return i < 160 ? 0 : 50000;
}

static double jump_behind_the_middle(unsigned i)
{
	return i < 110 ? 0 : 50000;
}

static double jump_before_the_middle(unsigned i)
{
	return i < 60 ? 0 : 50000;
}

static double early_jump(unsigned i)
{
	return i < 30 ? 0 : 50000;
}

static double two_late_jumps(unsigned i)
{
	return i < 150 ? 0 : i < 178 ? 50000 : 100000;
}

static double leak_with_a_jump(unsigned i)
{
	return 100.0 * i + (i < 130 ? 0 : 50000);
}

static double leak_behind_an_early_jump(unsigned i)
{
	return 100.0 * i + (i < 30 ? 0 : 50000);
}

/* A container whose size doubles, with as many elements each second. */
static double doubling(unsigned i)
{
	unsigned room = 1;
	while (room < i)
		room *= 2;
	return 1000.0 * room;
}

static double stairs(unsigned i)
{
	return 1000.0 * (i - i % 20);
}

static void rises_have_their_own_slope(void **state)
{
	(void)state;
	for (unsigned noise = 0; noise < 5000; noise += 1500) {
		assert_int_equal(count_growing(leak, noise, 1000, .15), SEEDS);
		assert_int_equal(count_growing(late_rise, noise, 10000, .15), SEEDS);
		assert_int_equal(count_growing(stairs, noise, 10000, .2), SEEDS);
	}
	for (unsigned noise = 0; noise < 1500; noise += 600) {
		assert_int_equal(count_growing(leak_with_a_jump, noise, 1000, .1), SEEDS);
		assert_int_equal(count_growing(leak_behind_an_early_jump, noise, 1000, .1), SEEDS);
	}
}

static void steps_do_not_grow(void **state)
{
	static double (*const shapes[])(unsigned) = { level,      late_jump,      jump_behind_the_middle,
						      early_jump, two_late_jumps, jump_before_the_middle,
						      doubling };
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		for (unsigned noise = 0; noise < 5000; noise += 700)
			assert_int_equal(count_growing(shapes[i], noise, 0, 0), 0);
	}
}

/* Two jumps up, of which the second one comes back. */
static double leak_beside_a_load(unsigned i)
{
	return 100.0 * i + (i < 70 ? 0 : 40000) + (i < 120 || i >= 150 ? 0 : 90000);
}

static void rises_below_noise_grow(void **state)
{
	(void)state;
	/* They rise by 18,000 behind the first tenth. */
	for (unsigned noise = 6000; noise <= 12000; noise += 2000)
		assert_int_equal(count_growing(leak, noise, 1000, .2), SEEDS);
	for (unsigned noise = 14000; noise <= 18000; noise += 2000)
		assert_in_range(count_growing(leak, noise, 1000, .3), SEEDS * 4 / 5, SEEDS);
	for (unsigned noise = 6000; noise <= 12000; noise += 1000) {
		assert_in_range(count_growing(leak_with_a_jump, noise, 1000, .5), SEEDS * 4 / 5, SEEDS);
		assert_in_range(count_growing(leak_behind_an_early_jump, noise, 1000, .2), SEEDS - 1, SEEDS);
	}
	for (unsigned noise = 1000; noise <= 6000; noise += 1000)
		assert_in_range(count_growing(leak_beside_a_load, noise, 1000, .15), SEEDS * 4 / 5, SEEDS);
}

/* Noise of which each level has a part of the one before: `keeps`, 0 to 1. From 0 on, as far as that matters. */
static void make_drift(int64_t *series, uint32_t seed, double keeps)
{
	double drift = 0;
	for (unsigned i = 0; i < BUCKETS + 100; i++) {
		drift = keeps * drift + (noise_at(seed, i) - .5) * 10000;
		if (i >= 100)
			series[i - 100] = 100000 + (int64_t)drift;
	}
}

/* How many of `n` series grow that only drift, or swing as often in the run. */
static unsigned count_growing_drifts(unsigned n, double keeps, double swings)
{
	int64_t series[BUCKETS];
	struct judgement j;
	unsigned grow = 0;
	for (uint32_t seed = 0; seed < n; seed++) {
		make_drift(series, seed, keeps);
		for (unsigned i = 0; i < BUCKETS && swings > 0; i++)
			series[i] += (int64_t)(20000 *
					       sin(6.2832 * (swings * i / BUCKETS + noise_at(seed, 1000))));
		grow += judge(series, 100000, 200, &j) == VERDICT_GROWING;
	}
	return grow;
}

static void drifts_and_swings_do_not_grow(void **state)
{
	(void)state;
	for (double keeps = 0; keeps < .95; keeps += .1)
		assert_in_range(count_growing_drifts(1000, keeps, 0), 0, 3);
	for (double swings = 2; swings < 8; swings += .5)
		assert_int_equal(count_growing_drifts(100, 0, swings), 0);
}

/* A saw whose teeth are as long as the run's sixth, and what fills until the run's middle. */
static double saw(unsigned i)
{
	return 1500.0 * (i % 33);
}

static double filling(unsigned i)
{
	return 100.0 * (i < 100 ? i : 100);
}

static void what_noise_hides_need_not_grow(void **state)
{
	static double (*const shapes[])(unsigned) = { level,      late_jump, jump_behind_the_middle,
						      early_jump, doubling,  jump_before_the_middle,
						      saw };
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		for (unsigned noise = 10000; noise < 80000; noise += 10000)
			assert_int_equal(count_growing(shapes[i], noise, 0, 0), 0);
	}
	for (unsigned noise = 1000; noise < 8000; noise += 1000)
		assert_int_equal(count_growing(filling, noise, 0, 0), 0);
}

/* ---- Steps ---- */

static void a_jump_that_comes_back_is_found(void **state)
{
	int64_t levels[BUCKETS];
	struct step steps[STEPS_MOST];
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		levels[i] = i < 100 ? 10000 : i == 100 ? 15000 : i < 150 ? 20000 : 10000 + i % 2;
	assert_int_equal(steps_find(levels, BUCKETS, steps, STEPS_MOST), 3);
	assert_int_equal(steps[1].first, 100);
	assert_int_equal(steps[1].last, 101);
	assert_int_equal(steps[1].change, 10000);
	assert_int_equal(steps[1].back, 150);
	assert_int_equal(steps[2].change, -10000);
	assert_int_equal(steps[2].back, UINT32_MAX);
}

static void the_largest_steps_are_kept_in_order(void **state)
{
	int64_t levels[BUCKETS];
	struct step steps[STEPS_MOST];
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		levels[i] = i / 3 % 2 ? 1000 + i / 3 : 0;
	assert_int_equal(steps_find(levels, BUCKETS, steps, STEPS_MOST), STEPS_MOST);
	for (uint32_t i = 1; i < STEPS_MOST; i++)
		assert_true(steps[i - 1].first < steps[i].first);
	assert_int_equal(steps[STEPS_MOST - 1].first, BUCKETS - 2);
}

static void noise_and_a_steady_rise_have_no_steps(void **state)
{
	int64_t levels[BUCKETS];
	struct step steps[STEPS_MOST];
	(void)state;
	for (int i = 0; i < BUCKETS; i++)
		levels[i] = 20000 + i * i * 7919 % 2000;
	assert_int_equal(steps_find(levels, BUCKETS, steps, STEPS_MOST), 1);
	assert_int_equal(steps[0].first, 0);
	for (int i = 0; i < BUCKETS; i++)
		levels[i] = 100 * (i + 1);
	assert_int_equal(steps_find(levels, BUCKETS, steps, STEPS_MOST), 0);
	for (int i = 120; i < BUCKETS; i++)
		levels[i] += 2000;
	assert_int_equal(steps_find(levels, BUCKETS, steps, STEPS_MOST), 1);
	assert_in_range(120, steps[0].first, steps[0].last);
}

/* ---- Text ---- */

static void figures_have_three_digits(void **state)
{
	char text[FIGURE_SIZE];
	(void)state;
	assert_string_equal(figure_bytes(text, 1023, false), "1023 B");
	assert_string_equal(figure_bytes(text, 1024, false), "1.00 KiB");
	assert_string_equal(figure_bytes(text, 1048575, false), "1.00 MiB");
	assert_string_equal(figure_bytes(text, 1048575, true), "1.05 MB");
	assert_string_equal(figure_bytes(text, UINT64_MAX, false), "16.0 EiB");
	assert_string_equal(figure_change(text, (uint64_t)-2048, false), "-2.00 KiB");
	assert_string_equal(figure_change(text, 5, false), "+5 B");
	assert_string_equal(figure_time(text, 999), "999 ns");
	assert_string_equal(figure_time(text, 1237000000), "1.24 s");
	assert_string_equal(figure_time(text, 125 * (uint64_t)SECOND), "2 min 05 s");
	assert_string_equal(figure_time(text, 8000 * (uint64_t)SECOND), "2 h 13 min");
	assert_string_equal(figure_share(text, .004), "<1 %");
	assert_string_equal(figure_share(text, .996), ">99 %");
	assert_string_equal(figure_share(text, 0), "0 %");
	assert_string_equal(figure_rate(text, 539000, SECOND), "539 k/s");
	assert_string_equal(figure_rate(text, 5, 0), "0 /s");
}

static void text_is_cut_by_characters(void **state)
{
	static const struct {
		const char *text;
		unsigned most;
		const char *right, *left;
	} cases[] = {
		{ "abcdef", 6, "abcdef", "abcdef" },
		{ "abcdef", 5, "ab...", "...ef" },
		{ "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9fxyz", 5, "\xc3\xa4\xc3\xb6...", "...yz" },
		{ "abcdef", 2, "ab", "ef" },
		{ "abcdef", 0, "", "" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *right = strdup(cases[i].text), *left = strdup(cases[i].text);
		assert_string_equal(width_cut_right(right, cases[i].most, "..."), cases[i].right);
		assert_string_equal(width_cut_left(left, cases[i].most, "..."), cases[i].left);
		free(right);
		free(left);
	}
	/* One character of three bytes takes the place of three. */
	char text[2][7] = { "abcdef", "abcdef" };
	assert_string_equal(width_cut_right(text[0], 5, "\u2026"), "abc\u2026");
	assert_string_equal(width_cut_left(text[1], 5, "\u2026"), "\u2026def");
	assert_int_equal(width_of("\xc3\xa4\xff"
				  "b"),
			 3);
}

static void suppressions_match_parts(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "foo", "a foo b", true }, { "foo", "fo", false },       { "^foo", "foo b", true },
		{ "^foo", "a foo", false }, { "foo$", "a foofoo", true }, { "foo$", "foo b", false },
		{ "^foo$", "foo", true },   { "^foo$", "foofoo", false }, { "a*c", "xabcx", true },
		{ "a*c", "cba", false },    { "^a*c$", "abcbc", true },   { "^a*c$", "abcb", false },
		{ "*", "", true },          { "^$", "", true },           { "^$", "a", false },
		{ "a*", "a", true },        { "a$b", "xa$bx", true },     { "x", "", false },
		{ "^*b$", "ab", true },     { "a**b", "a1b", true },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(suppressions_match(cases[i].pattern, cases[i].text), cases[i].matches);
}

static void malformed_suppressions_have_a_line(void **state)
{
	struct suppressions s = { 0 };
	uint32_t line;
	(void)state;
	assert_int_equal(suppressions_parse(&s, "# a\n\n leak:foo \r\nleak:a b", &line), SUPPRESSIONS_FINE);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.items[0].pattern, "foo");
	assert_string_equal(s.items[1].pattern, "a b");
	assert_int_equal(suppressions_parse(&s, "leak:x\nleak:\n", &line), SUPPRESSIONS_MALFORMED);
	assert_int_equal(line, 2);
	assert_int_equal(suppressions_parse(&s, "race:x", &line), SUPPRESSIONS_MALFORMED);
	suppressions_finish(&s);
}

static void durations_have_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "300", 300000000 },      { "300ms", 300000000 },
		{ "1.5s", 1500000000 },    { "2m", 120000000000 },
		{ "2min", 120000000000 },  { "1h", 3600000000000 },
		{ "7us", 7000 },           { "0.25m", 15000000000 },
		{ "02:10", 130000000000 }, { "1:02:03", 3723000000000 },
		{ "0:00.5", 500000000 },
	};
	static const char *const bad[] = {
		"",    "s",  "1.5.2s", "-1",      "+1",    "1 s",          "1x",
		":",   "1:", ":1",     "1:2:3:4", "1.5:2", "99999999999h", "9999999999999999999999",
		"1e3",
	};
	uint64_t ns;
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_true(duration_parse(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(duration_parse(bad[i], &ns));
}

/* ---- Spans ---- */

static void spans_are_asked_for_by_words(void **state)
{
	static const struct {
		const char *text;
		enum span_kind kind;
		const char *pattern; /* NULL: refused */
	} all[] = {
		{ "handle_*", SPANS_CALLS, "handle_*" },
		{ "Server::handle(int)", SPANS_CALLS, "Server::handle(int)" },
		{ "mark::set", SPANS_CALLS, "mark::set" },
		{ "function:thread", SPANS_CALLS, "thread" },
		{ "each:a", SPANS_CALLS, "a" },
		{ "mark:*", SPANS_MARKED, "*" },
		{ "mark:GET /::1", SPANS_MARKED, "GET /::1" },
		{ "thread", SPANS_THREADS, "thread" },
		{ "every:1ms", SPANS_WINDOWS, "every:1ms" },
		{ "", SPANS_CALLS, NULL },
		{ "mark:", SPANS_CALLS, NULL },
		{ "each:", SPANS_CALLS, NULL },
		{ "every:", SPANS_CALLS, NULL },
		{ "every:999us", SPANS_CALLS, NULL },
		{ "every:1parsec", SPANS_CALLS, NULL },
	};
	struct span_query query;
	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		assert_int_equal(span_query_parse(&query, all[i].text), all[i].pattern != NULL);
		if (!all[i].pattern)
			continue;
		assert_int_equal(query.kind, all[i].kind);
		assert_string_equal(query.pattern, all[i].pattern);
		assert_int_equal(query.each, strncmp(all[i].text, "each", 4) == 0);
	}
}

static void a_spread_is_exact_up_to_its_bound(void **state)
{
	struct spread spread = { 0 };
	(void)state;
	for (uint32_t i = 0; i < SPREAD_EXACT; i++)
		assert_true(spread_add(&spread, (uint64_t)i * 7919 % SPREAD_EXACT));
	assert_int_equal(spread_quantile(&spread, .5), SPREAD_EXACT / 2 - 1);
	assert_int_equal(spread_quantile(&spread, 1), SPREAD_EXACT - 1);
	assert_int_equal(spread_quantile(&spread, 0), 0);
	assert_true(spread_add(&spread, 5));
	assert_false(spread_is_exact(&spread));
	assert_in_range(spread_quantile(&spread, .5), SPREAD_EXACT / 2 * 4 / 5, SPREAD_EXACT / 2);
	assert_int_equal(spread.most, SPREAD_EXACT - 1);
	assert_int_equal(spread.n, SPREAD_EXACT + 1);
	spread_finish(&spread);
}

static void sums_of_stacks_begin_anew(void **state)
{
	struct stack_sums sums = { 0 };
	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		stack_sums_clear(&sums);
		assert_int_equal(sums.used, 0);
		/* Among those with the most bytes the lowest number counts. */
		for (uint32_t i = 0; i < 2 * round; i++)
			assert_true(stack_sums_add(&sums, 1000 + i % (round + 1), i < round ? 3 : 4));
		if (round)
			assert_int_equal(sums.largest, round == 1 ? 1001 : 1000);
		if (round > 1)
			assert_int_equal(sums.most, 7);
	}
	sums.epoch = UINT32_MAX;
	stack_sums_clear(&sums);
	assert_true(stack_sums_add(&sums, 1001, 1));
	assert_int_equal(sums.most, 1);
	assert_int_equal(sums.largest, 1001);
	stack_sums_finish(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_cover_all_values),
		cmocka_unit_test(histograms_do_not_mix),
		cmocka_unit_test(quantiles_are_those_of_the_values),
		cmocka_unit_test(a_replay_has_as_many_observers_as_are_added),
		cmocka_unit_test(a_slow_leak_under_noise_grows),
		cmocka_unit_test(a_cache_that_levels_off_is_bounded),
		cmocka_unit_test(tables_of_the_start_came_once),
		cmocka_unit_test(batches_are_a_sawtooth),
		cmocka_unit_test(names_are_shortened),
		cmocka_unit_test(no_growth_is_slower_than_itself),
		cmocka_unit_test(short_runs_are_not_judged),
		cmocka_unit_test(what_was_freed_at_the_exit_is_judged_before),
		cmocka_unit_test(a_clean_up_is_short_and_only_falls),
		cmocka_unit_test(what_outlives_the_clean_up_is_judged_at_the_end),
		cmocka_unit_test(what_levels_off_does_not_grow),
		cmocka_unit_test(a_leak_that_begins_late_grows),
		cmocka_unit_test(rises_have_their_own_slope),
		cmocka_unit_test(steps_do_not_grow),
		cmocka_unit_test(rises_below_noise_grow),
		cmocka_unit_test(drifts_and_swings_do_not_grow),
		cmocka_unit_test(what_noise_hides_need_not_grow),
		cmocka_unit_test(a_jump_that_comes_back_is_found),
		cmocka_unit_test(the_largest_steps_are_kept_in_order),
		cmocka_unit_test(noise_and_a_steady_rise_have_no_steps),
		cmocka_unit_test(figures_have_three_digits),
		cmocka_unit_test(text_is_cut_by_characters),
		cmocka_unit_test(suppressions_match_parts),
		cmocka_unit_test(malformed_suppressions_have_a_line),
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(spans_are_asked_for_by_words),
		cmocka_unit_test(a_spread_is_exact_up_to_its_bound),
		cmocka_unit_test(sums_of_stacks_begin_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
