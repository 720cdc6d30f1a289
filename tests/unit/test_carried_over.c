/* SPDX-License-Identifier: MIT */
/*
 * Blocks of former chunks: which they are is what a plain list of all blocks says, and what is kept for them is
 * bounded by those that are live. The source is included for a look inside.
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
	uint64_t allocs[CHUNKS * BLOCKS]; /* by rank; UINT64_MAX: gone */
	uint64_t n;
};

static struct plain plain[KINDS];
static uint64_t state;

static uint64_t chance(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

/* Names former blocks, of a kind in the order that `way` says, and what is to be found for them. */
static uint32_t name_elders(struct ranks_elder *elders, uint64_t *expected, unsigned way)
{
	const uint32_t n = (uint32_t)chance(NAMED);
	uint64_t next[KINDS] = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t kind = (uint32_t)chance(KINDS);
		struct plain *const p = &plain[kind];
		uint64_t rank = way == 0 ? chance(p->n + 1) : p->n - 1 - next[kind];

		expected[i] = UINT64_MAX;
		elders[i] = (struct ranks_elder){ .entry = i, .kind = 0, .back = UINT64_MAX };
		while (way == 1 && next[kind] < p->n && p->allocs[next[kind]] == UINT64_MAX)
			next[kind]++;
		if (way == 1)
			rank = next[kind];
		next[kind]++;
		if (rank >= p->n)
			continue;
		elders[i] = (struct ranks_elder){
			.entry = i, .kind = kind, .back = p->n - rank, .goes = chance(5) > 0
		};
		expected[i] = p->allocs[rank];
		if (elders[i].goes)
			p->allocs[rank] = UINT64_MAX;
	}
	return n;
}

/* New blocks, some of which go at once, in no order. */
static void make_blocks(struct ranks *ranks, uint64_t first_alloc)
{
	uint32_t n = 0;

	ranks->n_kinds = KINDS;
	for (uint32_t k = 0; k < KINDS; k++) {
		const uint32_t more = (uint32_t)chance(k % 2 ? BLOCKS / KINDS : 20);
		const uint64_t stay = 1 + chance(40);

		ranks->kinds[k] = (struct ranks_kind){ .kind = k, .first = n, .n = more };
		for (uint32_t i = n; i < n + more; i++)
			ranks->allocs[i] = (i * 5 + 1) % BLOCKS | (chance(stay) ? RANKS_GONE : 0);
		n += more;
	}
	for (uint32_t k = 0; k < KINDS; k++) {
		for (uint32_t i = 0; i < ranks->kinds[k].n; i++) {
			const uint32_t alloc = ranks->allocs[ranks->kinds[k].first + i];

			plain[k].allocs[plain[k].n++] = alloc & RANKS_GONE ? UINT64_MAX : first_alloc + alloc;
		}
	}
}

/* Broods are in order, not sparse, and say truly what is live; with the map that is all. */
static void check(const struct elders *e)
{
	uint64_t live = 0, kept = e->rest.n;

	for (uint32_t k = 0; k < KINDS; k++) {
		const struct elders_kind *const kind = &e->kinds[k];
		uint32_t gone = 0;
		uint64_t end = 0;

		for (uint32_t i = 0; i < kind->n; i++) {
			const struct brood *const brood = &kind->broods[i];
			uint32_t found = 0;

			assert_true(brood->rank >= end);
			end = brood->rank + brood->n;
			for (uint32_t j = 0; j < brood->n; j++)
				found += !(brood->allocs[j] & RANKS_GONE);
			assert_int_equal(brood->live, found);
			assert_true(brood->n == 0 || brood->live > brood->n / SPARSE);
			gone += brood->n == 0;
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
	struct ranks_kind kinds[KINDS];
	uint32_t allocs[BLOCKS];
	struct ranks_elder named[NAMED];
	struct ranks ranks = { .kinds = kinds, .allocs = allocs, .elders = named };
	static uint64_t expected[NAMED], found[NAMED];
	struct elders elders = { 0 };
	uint64_t first_alloc = 0;

	memset(plain, 0, sizeof(plain));
	for (unsigned c = 0; c < CHUNKS; c++) {
		ranks.n_elders = c ? name_elders(named, expected, way) : 0;
		make_blocks(&ranks, first_alloc);
		memset(found, 0xff, sizeof(found));
		assert_null(elders_take(&elders, &ranks, first_alloc, false, found));
		for (uint32_t i = 0; i < ranks.n_elders; i++)
			assert_int_equal(found[i], expected[i]);
		check(&elders);
		first_alloc += BLOCKS;
	}
	elders_finish(&elders);
}

static void elders_are_found(void **unused)
{
	(void)unused;
	for (unsigned way = 0; way < 3; way++) {
		state = way + 1;
		compare(way);
	}
}

static void what_never_was_is_told(void **unused)
{
	struct ranks_kind kind = { .kind = 3, .n = 1 };
	uint32_t alloc = 0;
	struct ranks_elder elder = { .kind = 3, .back = 2, .goes = true };
	struct ranks ranks = { .kinds = &kind, .n_kinds = 1, .allocs = &alloc, .elders = &elder };
	struct elders elders = { 0 };
	uint64_t found = UINT64_MAX;

	(void)unused;
	assert_null(elders_take(&elders, &ranks, 0, true, &found));
	ranks.n_elders = 1;
	assert_null(elders_take(&elders, &ranks, 1, false, &found));
	assert_int_equal(found, UINT64_MAX);
	elder.back = 3;
	assert_string_equal(elders_take(&elders, &ranks, 2, true, &found),
			    "a block is freed before it exists");
	elders_finish(&elders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elders_are_found),
		cmocka_unit_test(what_never_was_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
