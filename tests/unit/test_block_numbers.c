/* SPDX-License-Identifier: MIT */
/* Numbers of live blocks: each has its own, and those of blocks that are gone are given again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "block_numbers.h"

enum { CHUNKS = 300, MOST = 700 };

static uint64_t state = 1;

static uint32_t chance(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* Blocks of several chunks come and go; `stays` in 100 outlive their chunk for long. */
static void come_and_go(uint32_t stays)
{
	uint32_t *of = test_calloc(CHUNKS * MOST, sizeof(*of)); /* number + 1 of each block; 0: it is gone */
	uint64_t *owner = test_calloc(CHUNKS * MOST, sizeof(*owner));
	struct block_numbers numbers = { 0 };
	uint64_t n = 0, live = 0, most = 0;
	uint32_t number;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct mst_token tokens[] = { { .role = MST_FREE, .count = 9 },
					      { .role = MST_ALLOC, .count = chance(MOST) } };
		const struct mst_chunk chunk = { .first_alloc = n, .n_tokens = 2, .tokens = tokens };

		assert_true(block_numbers_begin(&numbers, &chunk));
		for (uint32_t k = 0; k < tokens[1].count; k++) {
			number = block_numbers_give(&numbers);
			assert_true(number < numbers.n);
			assert_true(owner[number] == 0); /* of no live block */
			of[n] = number + 1;
			owner[number] = ++n;
			most = ++live > most ? live : most;
			while (live && chance(100) >= stays) {
				const uint64_t block = chance(2) ? n - 1 - chance(n < 40 ? (uint32_t)n : 40)
								 : chance((uint32_t)n);

				assert_int_equal(block_numbers_take(&numbers, block, &number),
						 of[block] != 0);
				if (of[block]) {
					assert_int_equal(number, of[block] - 1);
					owner[number] = of[block] = 0;
					live--;
				}
			}
		}
		assert_false(block_numbers_take(&numbers, n, &number));
		assert_false(block_numbers_take(&numbers, UINT64_MAX, &number));
	}
	assert_int_equal(numbers.n, most);
	block_numbers_finish(&numbers);
	test_free(of);
	test_free(owner);
}

static void test_few_stay(void **unused)
{
	(void)unused;
	come_and_go(20);
}

static void test_many_stay(void **unused)
{
	(void)unused;
	come_and_go(60);
}

/* A block that goes just before another comes gives it its number: a realloc keeps it. */
static void test_next(void **unused)
{
	struct mst_token token = { .role = MST_ALLOC, .count = 3 };
	const struct mst_chunk chunk = { .first_alloc = 7, .n_tokens = 1, .tokens = &token };
	struct block_numbers numbers = { 0 };
	uint32_t number;

	(void)unused;
	assert_true(block_numbers_begin(&numbers, &chunk));
	assert_int_equal(block_numbers_give(&numbers), 0);
	assert_int_equal(block_numbers_give(&numbers), 1);
	assert_true(block_numbers_take(&numbers, 7, &number));
	assert_int_equal(number, 0);
	assert_int_equal(block_numbers_give(&numbers), 0);
	assert_true(block_numbers_take(&numbers, 9, &number));
	assert_false(block_numbers_take(&numbers, 9, &number));
	block_numbers_finish(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_stay),
		cmocka_unit_test(test_many_stay),
		cmocka_unit_test(test_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
