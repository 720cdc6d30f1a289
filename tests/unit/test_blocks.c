/* SPDX-License-Identifier: MIT */
/* The table of live blocks against a plain array by address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blocks.h"

#define STEPS 400000u
#define ADDRESSES 4096u

/* A few crowded pages, odd addresses among them, and many with one block. */
static uint64_t address_of(uint32_t i)
{
	if (i < ADDRESSES / 2)
		return 0x5500000000u + i * 8;
	if (i < ADDRESSES / 4 * 3)
		return 0x7f0000000000u + i * 3;
	return (uint64_t)i << 20;
}

static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void check(struct blocks *blocks, const struct block *model, uint32_t i)
{
	struct block block;

	assert_int_equal(blocks_find(blocks, address_of(i), &block), model[i].kind != 0);
	if (model[i].kind) {
		assert_int_equal(block.kind, model[i].kind);
		assert_int_equal(block.ordinal, model[i].ordinal);
	}
}

/* The list has exactly the live blocks. */
static void check_all(const struct blocks *blocks, const struct block *model)
{
	const uint64_t n = blocks_count(blocks);
	struct block_ref *refs = calloc(n + 1, sizeof(*refs));
	uint64_t left = 0, listed = 0, live = 0;

	assert_non_null(refs);
	blocks_list(blocks, refs);
	for (uint64_t i = 0; i < n; i++) {
		const struct block block = block_get(&refs[i]);

		listed += block.kind * 31 + block.ordinal;
	}
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		live += model[i].kind != 0;
		left += model[i].kind ? model[i].kind * 31 + model[i].ordinal : 0;
	}
	assert_int_equal(n, live);
	assert_int_equal(listed, left);
	free(refs);
}

/* Short-lived blocks at recurring addresses share one page. */
static void test_addresses_come_back(void **state)
{
	struct blocks blocks;
	struct block block;

	(void)state;
	assert_int_equal(blocks_init(&blocks), 0);
	for (uint64_t i = 1; i < 100000; i++) {
		assert_int_equal(
			blocks_add(&blocks, 4096 + i % 8 * 32, (struct block){ .kind = 1, .ordinal = i }),
			BLOCKS_ADDED);
		assert_true(blocks_take(&blocks, 4096 + i % 8 * 32, &block));
		assert_false(blocks_find(&blocks, 4096 + i % 8 * 32, &block));
	}
	assert_int_equal(blocks.n_pages, 1);
	assert_int_equal(blocks_count(&blocks), 0);
	blocks_finish(&blocks);
}

static void test_as_an_array(void **state)
{
	static struct block model[ADDRESSES], at_copy[ADDRESSES];
	struct blocks blocks, copy;
	struct block block;
	uint64_t numbers = 5;

	(void)state;
	assert_int_equal(blocks_init(&blocks), 0);
	assert_int_equal(blocks_init(&copy), 0);
	for (uint32_t step = 1; step <= STEPS; step++) {
		const uint32_t i = (uint32_t)next_number(&numbers) % ADDRESSES;

		check(&blocks, model, i);
		if (model[i].kind) {
			assert_true(blocks_take(&blocks, address_of(i), &block));
			model[i].kind = 0;
		} else {
			model[i] = (struct block){ step % (1u << 24), step % 3 == 0,
						   (1ull << BLOCKS_ORDINAL_BITS) - step };
			assert_int_equal(blocks_add(&blocks, address_of(i), model[i]), BLOCKS_ADDED);
			assert_int_equal(blocks_add(&blocks, address_of(i), model[i]), BLOCKS_LIVE);
		}
		check(&blocks, model, i);
		if (step == STEPS / 2) {
			blocks_finish(&copy);
			assert_int_equal(blocks_copy(&copy, &blocks), 0);
			memcpy(at_copy, model, sizeof(model));
		}
	}
	check_all(&blocks, model);
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		check(&blocks, model, i);
		check(&copy, at_copy, i);
	}
	blocks_finish(&blocks);
	blocks_finish(&copy);
}

/* The table reuses the buckets of empty pages. */
static void test_room_comes_back(void **state)
{
	struct blocks blocks;
	struct block block;

	(void)state;
	assert_int_equal(blocks_init(&blocks), 0);
	for (uint64_t i = 1; i < 1000000; i++) {
		assert_int_equal(blocks_add(&blocks, i << 12, (struct block){ .kind = 1, .ordinal = i }), 0);
		assert_true(blocks_take(&blocks, i << 12, &block));
		assert_int_equal(block.ordinal, i);
	}
	assert_true(blocks.mask < 4096);
	blocks_finish(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_an_array),
		cmocka_unit_test(test_room_comes_back),
		cmocka_unit_test(test_addresses_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
