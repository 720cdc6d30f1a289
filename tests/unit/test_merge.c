/* SPDX-License-Identifier: MIT */
/* The heap of consumers against a search through all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge.h"

#define STEPS 200000u
#define NONE UINT64_MAX

static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* The ring with the least stamp, the lower one of two; `but` is left out. `n`: there is none. */
static uint32_t least(const uint64_t *stamps, uint32_t n, uint32_t but)
{
	uint32_t found = n;

	for (uint32_t i = 0; i < n; i++) {
		if (i != but && stamps[i] != NONE && (found == n || stamps[i] < stamps[found]))
			found = i;
	}
	return found;
}

static void check(const struct merge *merge, const uint64_t *stamps, uint32_t n, uint64_t most)
{
	const struct merge_item *const first = merge_first(merge);
	const uint32_t wanted = least(stamps, n, n), second = least(stamps, n, wanted);

	assert_int_equal(first == NULL, wanted == n);
	if (!first)
		return;
	assert_int_equal(first->ring_id, wanted);
	assert_int_equal(first->stamp, stamps[wanted]);
	assert_int_equal(merge_second_stamp(merge, most),
			 second == n || stamps[second] > most ? most : stamps[second]);
}

/* Few different stamps, so that many are equal, and moves far ahead as well as near ones. */
static void run(uint32_t n, uint64_t seed)
{
	static struct merge merge;
	uint64_t stamps[SHM_RINGS];

	merge_clear(&merge);
	for (uint32_t i = 0; i < n; i++)
		stamps[i] = NONE;
	for (uint32_t i = 0; i < n; i++) {
		stamps[i] = next_number(&seed) % 64;
		merge_add(&merge, (struct merge_item){ stamps[i], i });
		check(&merge, stamps, n, next_number(&seed) % 128);
	}
	for (uint32_t step = 0; step < STEPS / n && merge_first(&merge); step++) {
		const uint32_t i = merge_first(&merge)->ring_id;
		const uint64_t number = next_number(&seed);

		if (number % 16 == 0) {
			stamps[i] = NONE;
			merge_drop_first(&merge);
		} else {
			stamps[i] += number % 16 == 1 ? 1000 : number % 3;
			merge_set_first(&merge, stamps[i]);
		}
		check(&merge, stamps, n, stamps[i] == NONE ? 0 : stamps[i] + number % 8);
	}
}

static void test_as_a_search(void **state)
{
	const uint32_t sizes[] = { 1, 2, 3, 4, 7, 8, 33, SHM_RINGS };

	(void)state;
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (uint64_t seed = 1; seed <= 20; seed++)
			run(sizes[i], seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
