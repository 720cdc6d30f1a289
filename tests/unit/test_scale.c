/* SPDX-License-Identifier: MIT */
/* scale() and its twin for processors without numbers of 128 bits agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scale.h"

#define ROUNDS 100000

static void check(uint64_t value, uint64_t times, uint64_t over, uint64_t wanted)
{
	assert_int_equal(scale(value, times, over), wanted);
	assert_int_equal(scale_by_halves(value, times, over), wanted);
}

static void test_known(void **state)
{
	(void)state;
	check(0, 0, 1, 0);
	check(7, 3, 2, 10);
	check(UINT64_MAX, 1, 1, UINT64_MAX);
	check(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	check(UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX); /* one more than fits */
	check(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - 1);
	check((uint64_t)1 << 63, 2, (uint64_t)1 << 63, 2);
	check((uint64_t)1 << 32, (uint64_t)1 << 32, 3, 0x5555555555555555u);
	check((uint64_t)1 << 32, (uint64_t)1 << 32, 1, UINT64_MAX);
	check(1000000000000000003u, 999999999, 1000000000, 999999999000000002u);
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed ^ *seed >> 29) >> (*seed >> 58); /* of all magnitudes */
}

static void test_twins(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t value = next(&seed), times = next(&seed), over = next(&seed) | 1;

		assert_int_equal(scale(value, times, over), scale_by_halves(value, times, over));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_known), cmocka_unit_test(test_twins) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
