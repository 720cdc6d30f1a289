/* SPDX-License-Identifier: MIT */
/* The weight of a sampled block, against the power series of 1 / (1 - exp(-x)). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_weight.h"

/* 1/x + 1/2 + x/12 - x^3/720 + ...; the rest is below 1e-9 for x up to 0.1. */
static double series(double x)
{
	return 1 / x + 0.5 + x / 12 - x * x * x / 720;
}

static void small_blocks_stand_for_many(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 7, 16, 100, 399 };

	(void)state;
	for (uint64_t mean = 4096; mean <= 1u << 30; mean *= 4) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			const double weight = series((double)(sizes[i] + 1) / (double)mean);
			const double bytes = (double)weight_bytes(mean, sizes[i], sizes[i] + 24);
			const double shares = (double)weight_shares(mean, sizes[i]);

			assert_float_equal(shares / WEIGHT_ONE / weight, 1, 1e-6);
			assert_float_equal(bytes, weight * (double)(sizes[i] + 24), 0.51 + 1e-6 * bytes);
		}
	}
}

static void large_blocks_stand_for_themselves(void **state)
{
	(void)state;
	for (uint64_t size = 1u << 20; size; size *= 2) {
		assert_int_equal(weight_shares(4096, size), WEIGHT_ONE);
		assert_int_equal(weight_bytes(4096, size, size + 8), size + 8);
	}
	assert_int_equal(weight_bytes(4096, UINT64_MAX, UINT64_MAX), UINT64_MAX);
	assert_int_equal(weight_bytes(1u << 30, 0, UINT64_MAX), UINT64_MAX);
}

static void whole_traces_are_left_alone(void **state)
{
	(void)state;
	assert_int_equal(weight_shares(0, 0), WEIGHT_ONE);
	assert_int_equal(weight_bytes(0, 5, 77), 77);
}

static void shares_are_rounded_at_the_end(void **state)
{
	(void)state;
	assert_int_equal(weight_blocks(0), 0);
	assert_int_equal(weight_blocks(WEIGHT_ONE / 2 - 1), 0);
	assert_int_equal(weight_blocks(WEIGHT_ONE / 2), 1);
	assert_int_equal(weight_blocks(3 * WEIGHT_ONE), 3);
	assert_int_equal(weight_blocks(-WEIGHT_ONE), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_blocks_stand_for_many),
		cmocka_unit_test(large_blocks_stand_for_themselves),
		cmocka_unit_test(whole_traces_are_left_alone),
		cmocka_unit_test(shares_are_rounded_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
