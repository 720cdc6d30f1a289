/* SPDX-License-Identifier: MIT */
/*
 * Carried-over blocks against a plain list of all blocks; the memory for them is bounded by the live ones. The test
 * includes the source to look inside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "carried_over.c"

enum { KINDS = 7, CHUNKS = 120, BLOCKS = 700, NAMED = 1600 };

struct plain {
	uint64_t allocs[CHUNKS * BLOCKS]; /* by ordinal; UINT64_MAX: gone */
	uint64_t n;
};

static struct plain plain[KINDS];
static uint64_t state;

static uint64_t chance(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

/* Refers to former blocks, of a kind in the order `way`, and notes the expected answers. */
static uint32_t refer_to_older(struct ordinals_older *carried_over, uint64_t *expected, unsigned way)
{
	const uint32_t n = (uint32_t)chance(NAMED);
	uint64_t next[KINDS] = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t kind = (uint32_t)chance(KINDS);
		struct plain *const p = &plain[kind];
		uint64_t ordinal = way == 0 ? chance(p->n + 1) : p->n - 1 - next[kind];

		expected[i] = UINT64_MAX;
		carried_over[i] = (struct ordinals_older){ .entry = i, .kind = 0, .back = UINT64_MAX };
		while (way == 1 && next[kind] < p->n && p->allocs[next[kind]] == UINT64_MAX)
			next[kind]++;
		if (way == 1)
			ordinal = next[kind];
		next[kind]++;
		if (ordinal >= p->n)
			continue;
		carried_over[i] = (struct ordinals_older){
			.entry = i, .kind = kind, .back = p->n - ordinal, .goes = chance(5) > 0
		};
		expected[i] = p->allocs[ordinal];
		if (carried_over[i].goes)
			p->allocs[ordinal] = UINT64_MAX;
	}
	return n;
}

/* New blocks; frees some of them at once, in random order. */
static void make_blocks(struct ordinals *ordinals, uint64_t first_alloc)
{
	uint32_t n = 0;

	ordinals->n_kinds = KINDS;
	for (uint32_t k = 0; k < KINDS; k++) {
		const uint32_t more = (uint32_t)chance(k % 2 ? BLOCKS / KINDS : 20);
		const uint64_t stay = 1 + chance(40);

		ordinals->kinds[k] = (struct ordinals_kind){ .kind = k, .first = n, .n = more };
		for (uint32_t i = n; i < n + more; i++)
			ordinals->allocs[i] = (i * 5 + 1) % BLOCKS | (chance(stay) ? ORDINALS_GONE : 0);
		n += more;
	}
	for (uint32_t k = 0; k < KINDS; k++) {
		for (uint32_t i = 0; i < ordinals->kinds[k].n; i++) {
			const uint32_t alloc = ordinals->allocs[ordinals->kinds[k].first + i];

			plain[k].allocs[plain[k].n++] =
				alloc & ORDINALS_GONE ? UINT64_MAX : first_alloc + alloc;
		}
	}
}

/* Leftovers ascend, are dense, and count their live blocks; together with the map they have all blocks. */
static void check(const struct carried_over *e)
{
	uint64_t live = 0, kept = e->rest.n;

	for (uint32_t k = 0; k < KINDS; k++) {
		const struct carried_over_kind *const kind = &e->kinds[k];
		uint32_t gone = 0;
		uint64_t end = 0;

		for (uint32_t i = 0; i < kind->n; i++) {
			const struct leftover *const leftover = &kind->leftovers[i];
			uint32_t found = 0;

			assert_true(leftover->ordinal >= end);
			end = leftover->ordinal + leftover->n;
			for (uint32_t j = 0; j < leftover->n; j++)
				found += !(leftover->allocs[j] & ORDINALS_GONE);
			assert_int_equal(leftover->live, found);
			assert_true(leftover->n == 0 || leftover->live > leftover->n / SPARSE);
			gone += leftover->n == 0;
			kept += found;
		}
		assert_int_equal(kind->gone, gone);
		for (uint64_t i = 0; i < plain[k].n; i++)
			live += plain[k].allocs[i] != UINT64_MAX;
	}
	assert_int_equal(kept, live);
}

static void compare(unsigned way)
{
	struct ordinals_kind kinds[KINDS];
	uint32_t allocs[BLOCKS];
	struct ordinals_older named[NAMED];
	struct ordinals ordinals = { .kinds = kinds, .allocs = allocs, .carried_over = named };
	static uint64_t expected[NAMED], found[NAMED];
	struct carried_over carried_over = { 0 };
	uint64_t first_alloc = 0;

	memset(plain, 0, sizeof(plain));
	for (unsigned c = 0; c < CHUNKS; c++) {
		ordinals.n_older = c ? refer_to_older(named, expected, way) : 0;
		make_blocks(&ordinals, first_alloc);
		memset(found, 0xff, sizeof(found));
		assert_null(carried_over_take(&carried_over, &ordinals, first_alloc, false, found));
		for (uint32_t i = 0; i < ordinals.n_older; i++)
			assert_int_equal(found[i], expected[i]);
		check(&carried_over);
		first_alloc += BLOCKS;
	}
	carried_over_finish(&carried_over);
}

static void carried_over_are_found(void **unused)
{
	(void)unused;
	for (unsigned way = 0; way < 3; way++) {
		state = way + 1;
		compare(way);
	}
}

static void what_never_was_is_told(void **unused)
{
	struct ordinals_kind kind = { .kind = 3, .n = 1 };
	uint32_t alloc = 0;
	struct ordinals_older older = { .kind = 3, .back = 2, .goes = true };
	struct ordinals ordinals = { .kinds = &kind, .n_kinds = 1, .allocs = &alloc, .carried_over = &older };
	struct carried_over carried_over = { 0 };
	uint64_t found = UINT64_MAX;

	(void)unused;
	assert_null(carried_over_take(&carried_over, &ordinals, 0, true, &found));
	ordinals.n_older = 1;
	assert_null(carried_over_take(&carried_over, &ordinals, 1, false, &found));
	assert_int_equal(found, UINT64_MAX);
	older.back = 3;
	assert_string_equal(carried_over_take(&carried_over, &ordinals, 2, true, &found),
			    "a block is freed before it exists");
	carried_over_finish(&carried_over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(carried_over_are_found),
		cmocka_unit_test(what_never_was_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
