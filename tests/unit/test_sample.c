/* SPDX-License-Identifier: MIT */
/* The sample points against their distribution, and the set of live blocks against a table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sample.h"

#define SIGMAS 5.0

static const uint64_t means[] = { 4096, 65536, 524288, 1u << 30 };
#define MEANS (sizeof(means) / sizeof(*means))

static void assert_near(double found, double expected, double sigma)
{
	if (fabs(found - expected) > SIGMAS * sigma)
		fail_msg("%.3f is more than %.0f times %.3f from %.3f", found, SIGMAS, sigma, expected);
}

/* The standard deviation of an exponential distribution is its mean; rounding down subtracts half a byte. */
static void intervals_have_their_mean(void **state)
{
	const unsigned n = 1000000;

	(void)state;
	for (size_t i = 0; i < MEANS; i++) {
		uint64_t random = 4711 + i;
		double sum = 0, squares = 0;

		for (unsigned k = 0; k < n; k++) {
			const double x = (double)sample_interval(&random, means[i]) / (double)means[i];

			sum += x;
			squares += x * x;
		}
		assert_near(sum / n + 0.5 / (double)means[i], 1, 1 / sqrt(n));
		assert_near(squares / n, 2, 1.001 * sqrt(20.0 / n));
	}
}

/* The share of intervals beyond each of some multiples of the mean. */
static void intervals_are_exponential(void **state)
{
	static const double multiples[] = { 0.0005, 0.01, 0.1, 0.5, 1, 2, 5, 9 };
	const unsigned n = 1000000;

	(void)state;
	for (size_t i = 0; i < sizeof(multiples) / sizeof(*multiples); i++) {
		const uint64_t limit = (uint64_t)(multiples[i] * 524288);
		const double p = exp(-(double)limit / 524288);
		uint64_t random = 12345 + i;
		unsigned beyond = 0;

		for (unsigned k = 0; k < n; k++)
			beyond += sample_interval(&random, 524288) >= limit;
		assert_near(beyond, n * p, sqrt(n * p * (1 - p)));
	}
}

static bool is_hit(struct sample_countdown *c, size_t size)
{
	if (sample_passes(c, size))
		return false;
	sample_next(c);
	return true;
}

static double probability(size_t size, uint64_t mean)
{
	return -expm1(-((double)size + 1) / (double)mean);
}

/* Blocks of one size after the other. */
static void hits_have_their_probability(void **state)
{
	static const size_t sizes[] = { 0, 1, 16, 100, 1000, 4095, 30000, 600000 };

	(void)state;
	for (size_t m = 0; m < 3; m++) {
		struct sample_countdown c;

		assert_true(sample_begin(means[m]));
		sample_seed(&c, 99 + m);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			const unsigned n = 10000000 >> (sizes[i] > 100 ? 3 : 0);
			const double p = probability(sizes[i], means[m]);
			unsigned hits = 0;

			for (unsigned k = 0; k < n; k++)
				hits += is_hit(&c, sizes[i]);
			assert_near(hits, n * p, sqrt(n * p * (1 - p)) + 1e-6 * n);
		}
	}
}

/* Independence: large and small blocks in turns, and how often two in a row are hit. */
static void hits_are_independent(void **state)
{
	static const size_t sizes[] = { 3000, 24, 9000, 500 };
	const unsigned n = 4000000;
	unsigned hits[4] = { 0 }, both = 0;
	struct sample_countdown c;
	bool before = false;
	double p;

	(void)state;
	assert_true(sample_begin(4096));
	sample_seed(&c, 5);
	for (unsigned k = 0; k < n; k++) {
		const bool hit = is_hit(&c, sizes[k % 4]);

		hits[k % 4] += hit;
		both += k % 4 == 1 && hit && before;
		before = hit;
	}
	for (unsigned i = 0; i < 4; i++) {
		p = probability(sizes[i], 4096);
		assert_near(hits[i], n / 4.0 * p, sqrt(n / 4.0 * p * (1 - p)));
	}
	p = probability(3000, 4096) * probability(24, 4096);
	assert_near(both, n / 4.0 * p, sqrt(n / 4.0 * p * (1 - p)));
}

static void seeds_give_other_points(void **state)
{
	struct sample_countdown a, b;

	(void)state;
	assert_true(sample_begin(1u << 30));
	sample_seed(&a, 1);
	sample_seed(&b, 2);
	assert_int_not_equal(a.left, b.left);
}

/* The set has exactly the keys between sample_put() and sample_take(). */
static void the_set_is_a_set(void **state)
{
	enum { ADDRESSES = 20000, STEPS = 2000000 };
	static bool there[ADDRESSES];
	uint64_t random = 7;

	(void)state;
	assert_true(sample_begin(4096));
	for (unsigned i = 0; i < STEPS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;

		const uint32_t which = (uint32_t)(random >> 33) % ADDRESSES;
		const uint64_t key = 0x7f0000000010 + 48ull * which;

		if (there[which])
			assert_true(sample_may_hold(key));
		if (random >> 63) {
			assert_true(sample_put(key));
			there[which] = true;
		} else {
			assert_int_equal(sample_take(key), there[which]);
			there[which] = false;
		}
		assert_false(sample_take(sample_custom_key((void *)key)));
	}
	for (unsigned i = 0; i < ADDRESSES; i++)
		assert_int_equal(sample_take(0x7f0000000010 + 48ull * i), there[i]);
	for (unsigned i = 0; i < SAMPLE_COUNTERS; i++)
		assert_int_equal(sample_counters[i], 0);
}

/* The set becomes full, and still finds all its keys. */
static void a_full_set_refuses(void **state)
{
	const unsigned n = 1000000;
	bool *there = calloc(n, sizeof(*there));
	unsigned kept = 0;

	(void)state;
	assert_non_null(there);
	for (unsigned i = 0; i < n; i++)
		kept += there[i] = sample_put(0x10000 + 16ull * i);
	assert_in_range(kept, 300000, 524288);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sample_take(0x10000 + 16ull * i), there[i]);
	free(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_have_their_mean),   cmocka_unit_test(intervals_are_exponential),
		cmocka_unit_test(hits_have_their_probability), cmocka_unit_test(hits_are_independent),
		cmocka_unit_test(seeds_give_other_points),     cmocka_unit_test(the_set_is_a_set),
		cmocka_unit_test(a_full_set_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
