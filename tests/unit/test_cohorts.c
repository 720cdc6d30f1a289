/* SPDX-License-Identifier: MIT */
/* Live blocks by index: whatever comes and goes, what is listed is what a plain array has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cohorts.h"

enum { BLOCKS = 100000 };

static uint64_t state;

static uint64_t chance(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

static struct liveblock block_of(uint64_t index)
{
	return (struct liveblock){ index, index * 3, (uint32_t)index % 7, (uint32_t)index % 5 };
}

static void assert_listed(const struct cohorts *cohorts, uint64_t first, const uint8_t *there)
{
	struct liveblock *list = test_calloc(cohorts->n + 1, sizeof(*list));
	size_t n = 0;

	cohorts_list(cohorts, list);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		const struct liveblock block = block_of(first + i);

		if (!there[i])
			continue;
		assert_true(n < cohorts->n);
		assert_int_equal(list[n].index, block.index);
		assert_int_equal(list[n].time, block.time);
		assert_int_equal(list[n].kind, block.kind);
		assert_int_equal(list[n].thread, block.thread);
		n++;
	}
	assert_int_equal(n, cohorts->n);
	test_free(list);
}

/* Blocks come in turn from `first` on, `gap` or fewer indices apart; one in `stays` is not soon taken. */
static void compare(uint64_t first, uint64_t gap, uint64_t stays)
{
	uint8_t *there = test_calloc(BLOCKS, 1);
	struct cohorts cohorts = { 0 };

	for (uint64_t i = 0, taken = 0; i < BLOCKS; i += 1 + chance(gap)) {
		const struct liveblock block = block_of(first + i);
		const uint64_t other = chance(BLOCKS);

		assert_true(cohorts_put(&cohorts, &block));
		there[i] = 1;
		for (; taken + 700 < i; taken++) {
			if (chance(stays) == 0)
				continue;
			cohorts_foresee(&cohorts, first + taken + chance(2000));
			assert_int_equal(cohorts_take(&cohorts, first + taken), there[taken]);
			there[taken] = 0;
		}
		if (chance(8) == 0) {
			assert_int_equal(cohorts_take(&cohorts, first + other), there[other]);
			there[other] = 0;
		}
		if (chance(BLOCKS / 8) == 0)
			assert_listed(&cohorts, first, there);
	}
	assert_listed(&cohorts, first, there);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(cohorts_take(&cohorts, first + i), there[i]);
		assert_false(cohorts_take(&cohorts, first + i));
	}
	assert_int_equal(cohorts.n, 0);
	assert_null(cohorts.first);
	assert_null(cohorts.last);
	cohorts_finish(&cohorts);
	test_free(there);
}

static void what_is_live_is_listed(void **unused)
{
	(void)unused;
	for (uint64_t gap = 1; gap < 30000; gap *= 12) {
		compare(0, gap, 2);
		compare(UINT64_MAX / 2, gap, 50);
		compare(700, gap, 1000);
	}
}

/* Many came, few stay: their cohort gives its memory back, and finds them still. */
static void few_are_left_of_many(void **unused)
{
	struct cohorts cohorts = { 0 };
	struct liveblock list[3];

	(void)unused;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		const struct liveblock block = block_of(i);

		assert_true(cohorts_put(&cohorts, &block));
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		assert_true(i % (BLOCKS / 3 + 1) == 5 || cohorts_take(&cohorts, i));
	assert_int_equal(cohorts.n, 3);
	cohorts_list(&cohorts, list);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(list[i].index, i * (BLOCKS / 3 + 1) + 5);
	cohorts_finish(&cohorts);
	assert_null(cohorts.first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_live_is_listed),
		cmocka_unit_test(few_are_left_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
