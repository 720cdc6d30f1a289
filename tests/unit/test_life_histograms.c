/* SPDX-License-Identifier: MIT */
/* Lifetimes that a thread counts are those that the caller counts: the same values in pages of the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "life_histograms.h"

enum { LIVES = 300 };

static uint64_t state;

static uint64_t chance(uint64_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

static struct ended_life any_life(void)
{
	return (struct ended_life){ chance(10), chance(100000) << chance(20), UINT64_MAX >> chance(64),
				    (uint32_t)chance(LIVES) };
}

static struct life_histograms *counted(unsigned jobs, uint32_t n)
{
	struct life_histograms *h = life_histograms_create(jobs);

	assert_non_null(h);
	state = n;
	for (uint32_t i = 0; i < n; i++) {
		struct life_batch *batch = life_histograms_batch(h);

		assert_true(batch->n < LIFE_BATCH);
		batch->items[batch->n++] = any_life();
		if (batch->n == LIFE_BATCH)
			assert_true(life_histograms_count(h));
	}
	return h;
}

static void a_thread_counts_the_same(void **unused)
{
	static const uint32_t sizes[] = { 0, 1, LIFE_BATCH - 1, LIFE_BATCH, 40 * LIFE_BATCH + 7 };

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct life_histograms *alone = counted(1, sizes[i]), *helped = counted(2, sizes[i]);

		assert_true(life_histograms_finish(alone) && life_histograms_finish(helped));
		const struct histogram_pages *pages = life_histograms_pages(alone);

		assert_int_equal(pages->n, life_histograms_pages(helped)->n);
		if (pages->n)
			assert_memory_equal(pages->items, life_histograms_pages(helped)->items,
					    pages->n * sizeof(*pages->items));
		for (uint32_t life = 0; life <= LIVES; life++) {
			const struct lifetimes *one = life_histograms_of(alone, life);
			const struct lifetimes *other = life_histograms_of(helped, life);

			assert_int_equal(!one, !other);
			if (one)
				assert_memory_equal(one, other, sizeof(*one));
		}
		life_histograms_destroy(alone);
		life_histograms_destroy(helped);
	}
}

/* As after an error: what waits is counted, or not, and all memory is given back. */
static void one_can_stop_at_any_time(void **unused)
{
	(void)unused;
	for (uint32_t n = 0; n < 12 * LIFE_BATCH; n += LIFE_BATCH / 3)
		life_histograms_destroy(counted(2, n));
	life_histograms_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_counts_the_same),
		cmocka_unit_test(one_can_stop_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
