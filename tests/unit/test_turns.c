/* SPDX-License-Identifier: MIT */
/*
 * Turns: blocks of two kinds come and go at random, in rings long enough for groups of words to be passed over. What one
 * side says of each, the other must understand; and it must be what counting the live blocks one by one gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "turns.h"

#define ALLOCS 60000u

enum { FEW, FEW_GO, MANY, MANY_GO, SYMBOLS };

static const struct mst_symbol symbols[SYMBOLS] = {
	[FEW] = { .kind = 7, .role = MST_ALLOC, .count = ALLOCS },
	[FEW_GO] = { .kind = 7, .role = MST_FREE },
	[MANY] = { .kind = 3, .role = MST_ALLOC, .count = ALLOCS },
	[MANY_GO] = { .kind = 3, .role = MST_OUT },
};

/* The live blocks of a kind, in the order in which they came, and the ring's place among them. */
struct ring {
	uint32_t allocs[ALLOCS];
	uint32_t n, at;
};

static struct ring rings[2];
static uint32_t bits[ALLOCS];
static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % n);
}

/* Programs free the newest, the oldest, the next one, and any. */
static uint32_t choose(const struct ring *ring)
{
	switch (below(5)) {
	case 0:
		return ring->n - 1;
	case 1:
		return 0;
	case 2:
		return ring->at % ring->n;
	case 3:
		return (ring->at + ring->n - below(ring->n < 3 ? 1 : 3)) % ring->n;
	default:
		return below(ring->n);
	}
}

static void name_one(struct turns *says, struct turns *hears, struct ring *ring, uint32_t symbol, bool goes)
{
	const uint32_t at = choose(ring), alloc = ring->allocs[at];
	int64_t turn, wanted = (int64_t)at - ring->at;
	uint32_t heard;

	if (2 * wanted >= (int64_t)ring->n)
		wanted -= ring->n;
	else if (2 * wanted < -(int64_t)ring->n)
		wanted += ring->n;
	assert_true(turns_find(says, symbol, bits[alloc], &turn));
	assert_int_equal(turn, wanted);
	assert_true(turns_take(hears, symbol, turn, &heard));
	assert_int_equal(heard, alloc);
	ring->at = at;
	if (!goes)
		return;
	turns_go(says, symbol);
	turns_go(hears, symbol);
	memmove(&ring->allocs[at], &ring->allocs[at + 1], (ring->n - at - 1) * sizeof(*ring->allocs));
	ring->n--;
	assert_false(turns_find(says, symbol, bits[alloc], &turn));
}

/* `most` blocks are live of the one kind, a few of the other. */
static void churn(struct turns *says, struct turns *hears, uint32_t most)
{
	uint32_t n = 0;

	memset(rings, 0, sizeof(rings));
	assert_int_equal(turns_begin(says, symbols, SYMBOLS), 0);
	assert_int_equal(turns_begin(hears, symbols, SYMBOLS), 0);
	while (n < ALLOCS) {
		const uint32_t kind = below(8) != 0, symbol = kind ? MANY : FEW;
		struct ring *ring = &rings[kind];

		if (ring->n == 0 || (ring->n < (kind ? most : 5) && below(8))) {
			bits[n] = turns_come(says, symbol);
			assert_int_equal(turns_come(hears, symbol), bits[n]);
			ring->allocs[ring->n++] = n++;
		} else {
			name_one(says, hears, ring, symbol + 1, below(10) != 0);
		}
	}
	while (rings[1].n)
		name_one(says, hears, &rings[1], MANY_GO, true);
}

static void test_turns(void **context)
{
	struct turns says = { 0 }, hears = { 0 };
	uint32_t alloc;

	(void)context;
	for (uint32_t most = 1; most < 40000; most = most * 5 + 3)
		churn(&says, &hears, most);
	assert_false(turns_take(&hears, MANY_GO, 0, &alloc));
	assert_false(turns_take(&hears, FEW_GO, rings[0].n, &alloc));
	assert_false(turns_take(&hears, FEW_GO, -(int64_t)rings[0].n - 1, &alloc));
	turns_finish(&says);
	turns_finish(&hears);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_turns) };

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
