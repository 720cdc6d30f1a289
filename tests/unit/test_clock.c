/* SPDX-License-Identifier: MIT */
/* The times of stamps of any age. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"
#include "os.h"

#define SAMPLES 20
#define APART_NS 1000000
#define MS UINT64_C(1000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* Stamps that are the time itself. */
static void test_without_counter(void **state)
{
	uint64_t stamps[SAMPLES];
	struct clock clock;

	(void)state;
	clock_start(&clock, false);
	for (int i = 0; i < SAMPLES; i++) {
		stamps[i] = now_ns();
		nanosleep(&(struct timespec){ 0, APART_NS }, NULL);
		clock_sample(&clock);
		for (int j = 0; j <= i; j++)
			assert_in_range(clock_ns(&clock, stamps[j]) + 2, stamps[j] - clock.start_ns,
					stamps[j] - clock.start_ns + 4);
	}
	assert_int_equal(clock_ns(&clock, clock.start_ns), 0);
	assert_int_equal(clock_ns(&clock, 0), 0);
	assert_int_equal(clock_ns(&clock, UINT64_MAX), clock.ns[1]);
}

/* The sample lies between the times before and after it, even if an interrupt disturbs it. */
static void test_counter(void **state)
{
	uint64_t stamps[SAMPLES], last = 0;
	struct clock clock;

	(void)state;
	if (!clock_tsc_usable())
		skip();
	clock_start(&clock, true);
	for (int i = 0; i < SAMPLES; i++) {
		nanosleep(&(struct timespec){ 0, APART_NS }, NULL);
		stamps[i] = cpu_clock_unordered();
		clock_sample(&clock);
	}
	for (int i = 0; i < SAMPLES; i++) {
		const uint64_t at = clock_ns(&clock, stamps[i]);

		assert_true(at > last);
		last = at;
	}
	assert_true(last <= clock.ns[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_counter),
		cmocka_unit_test(test_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
