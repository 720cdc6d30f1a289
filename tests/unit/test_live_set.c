/* SPDX-License-Identifier: MIT */
/* Live blocks by index: after any order of adding and removing the list is that of a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "live_set.h"

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

/* Empties the set. */
static void assert_listed(struct live_set *set, uint64_t first, const uint8_t *there)
{
	const size_t live = set->n;
	size_t n = 0, listed;
	struct liveblock *list = live_set_list(set, &listed);

	assert_non_null(list);
	assert_int_equal(listed, live);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		const struct liveblock block = block_of(first + i);

		if (!there[i])
			continue;
		assert_true(n < live);
		assert_int_equal(list[n].index, block.index);
		assert_int_equal(list[n].time, block.time);
		assert_int_equal(list[n].kind, block.kind);
		assert_int_equal(list[n].thread, block.thread);
		n++;
	}
	assert_int_equal(n, live);
	free(list);
}

static void put_all(struct live_set *set, uint64_t first, const uint8_t *there)
{
	for (uint64_t i = 0; i < BLOCKS; i++) {
		const struct liveblock block = block_of(first + i);

		assert_true(!there[i] || live_set_put(set, &block));
	}
}

/* Adds blocks from `first` on, at most `gap` indices apart; one in `stays` is not soon removed. */
static void compare(uint64_t first, uint64_t gap, uint64_t stays)
{
	uint8_t *there = test_calloc(BLOCKS, 1);
	struct live_set set = { 0 };

	for (uint64_t i = 0, taken = 0; i < BLOCKS; i += 1 + chance(gap)) {
		const struct liveblock block = block_of(first + i);
		const uint64_t other = chance(BLOCKS);

		assert_true(live_set_put(&set, &block));
		there[i] = 1;
		for (; taken + 700 < i; taken++) {
			if (chance(stays) == 0)
				continue;
			assert_int_equal(live_set_take_known(&set, first + taken), there[taken]);
			there[taken] = 0;
		}
		if (chance(8) == 0) {
			assert_int_equal(live_set_take_known(&set, first + other), there[other]);
			there[other] = 0;
		}
		if (chance(BLOCKS / 8) == 0) {
			assert_listed(&set, first, there);
			put_all(&set, first, there);
		}
	}
	assert_listed(&set, first, there);
	put_all(&set, first, there);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(live_set_take_known(&set, first + i), there[i]);
		assert_false(live_set_take_known(&set, first + i));
	}
	assert_int_equal(set.n, 0);
	live_set_finish(&set);
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

/* Many blocks came, few stay: the set reuses items and finds the remaining blocks. */
static void few_are_left_of_many(void **unused)
{
	struct live_set set = { 0 };
	struct liveblock *list;
	size_t n;

	(void)unused;
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < BLOCKS; i++) {
			const struct liveblock block = block_of(round * BLOCKS + i);

			assert_true(live_set_put(&set, &block));
		}
		for (uint64_t i = 0; i < BLOCKS; i++)
			assert_true(i % (BLOCKS / 3 + 1) == 5 ||
				    live_set_take_known(&set, round * BLOCKS + i));
	}
	assert_int_equal(set.n, 6);
	assert_true(set.n_items <= BLOCKS + 3);
	list = live_set_list(&set, &n);
	assert_non_null(list);
	assert_int_equal(n, 6);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(list[i].index, i / 3 * BLOCKS + i % 3 * (BLOCKS / 3 + 1) + 5);
	free(list);
	assert_int_equal(set.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_live_is_listed),
		cmocka_unit_test(few_are_left_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
