/* SPDX-License-Identifier: MIT */
/* The map of block numbers: after any order of adding and removing it finds what a plain array has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "block_map.h"

enum { BLOCKS = 60000 };

static uint64_t state;

static uint64_t chance(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

/* Looks for a block without removing it. */
static bool find(struct block_map *map, uint64_t block, uint32_t *number)
{
	const bool found = block_map_take(map, block, number);

	assert_true(!found || block_map_put(map, block, *number));
	return found;
}

/* Adds blocks from `first` on, at most `gap` indices apart; one in `stays` is not soon removed. */
static void compare(uint64_t first, uint64_t gap, uint64_t stays)
{
	uint32_t *numbers = test_calloc(BLOCKS, sizeof(*numbers)), number;
	struct block_map map = { 0 };

	for (uint64_t i = 0, taken = 0; i < BLOCKS; i += 1 + chance(gap)) {
		const uint64_t other = chance(BLOCKS);

		numbers[i] = (uint32_t)i + 1;
		assert_true(block_map_put(&map, first + i, numbers[i]));
		for (; taken + 700 < i; taken++) {
			if (chance(stays) == 0)
				continue;
			assert_int_equal(block_map_take(&map, first + taken, &number), numbers[taken] != 0);
			if (numbers[taken])
				assert_int_equal(number, numbers[taken]);
			numbers[taken] = 0;
		}
		assert_int_equal(find(&map, first + other, &number), numbers[other] != 0);
		if (numbers[other])
			assert_int_equal(number, numbers[other]);
	}
	block_map_check(&map);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(block_map_take(&map, first + i, &number), numbers[i] != 0);
		if (numbers[i])
			assert_int_equal(number, numbers[i]);
		assert_false(find(&map, first + i, &number));
	}
	block_map_finish(&map);
	test_free(numbers);
}

static void what_is_put_is_found(void **unused)
{
	(void)unused;
	for (uint64_t gap = 1; gap < 3000; gap *= 6) {
		compare(0, gap, 2);
		compare(0, gap, 50);
		compare(700, gap, 1000);
	}
}

/* The indices of a cut or damaged trace may begin anywhere: the map makes no directory up to there. */
static void far_indices_take_no_memory(void **unused)
{
	struct block_map map = { 0 };
	uint32_t number;

	(void)unused;
	compare(UINT64_C(1) << 40, 5, 9);
	compare(UINT64_MAX - 2 * BLOCKS, 1, 9);
	compare(1000 * BLOCK_MAP_PAGE, 3, 9);
	assert_true(block_map_put(&map, UINT64_C(1) << 40, 5));
	assert_int_equal(map.n, 0);
	assert_true(find(&map, UINT64_C(1) << 40, &number));
	assert_int_equal(number, 5);
	assert_false(block_map_take(&map, UINT64_MAX, &number));
	block_map_finish(&map);
}

/* One block in 1000 stays: the map reuses the pages of the others. */
static void pages_are_given_back(void **unused)
{
	struct block_map map = { 0 };
	uint32_t number;

	(void)unused;
	for (uint64_t i = 0; i < 1000000; i++) {
		assert_true(block_map_put(&map, i, 1));
		if (i >= 1000 && i % 1000)
			assert_true(block_map_take(&map, i - 1000, &number));
	}
	assert_true(map.n_pages < 10);
	block_map_finish(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_found),
		cmocka_unit_test(far_indices_take_no_memory),
		cmocka_unit_test(pages_are_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
