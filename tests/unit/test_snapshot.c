/* SPDX-License-Identifier: MIT */
/* The choice of snapshots, on numbers alone: Massif's documented rules and worked examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event_log.h"
#include "snapshot.h"

/* A heap of nothing but bytes, its clock counting bytes moved, as with --heap-admin=0. */
struct heap {
	struct snapshots snapshots;
	uint64_t total, clock;
};

static void take(struct heap *h, enum snapshot_kind kind)
{
	*snapshots_next(&h->snapshots) =
		(struct snapshot){ .kind = kind, .time = (int64_t)h->clock, .heap = h->total };
	snapshots_store(&h->snapshots);
}

/* With a log each snapshot is taken out by its own rule. */
static void heap_begin_logged(struct heap *h, unsigned max, unsigned detailed_freq, double inaccuracy,
			      struct event_log *log)
{
	const struct settings settings = {
		.max_snapshots = max,
		.detailed_freq = detailed_freq,
		.peak_inaccuracy = inaccuracy,
	};

	*h = (struct heap){ 0 };
	assert_true(snapshots_init(&h->snapshots, &settings, log));
	take(h, SNAPSHOT_NORMAL);
}

static void heap_begin(struct heap *h, unsigned max, unsigned detailed_freq, double inaccuracy)
{
	heap_begin_logged(h, max, detailed_freq, inaccuracy, NULL);
}

static void heap_alloc(struct heap *h, uint64_t bytes)
{
	h->total += bytes;
	h->clock += bytes;
	if (h->clock >= h->snapshots.earliest)
		take(h, SNAPSHOT_NORMAL);
}

static void heap_free(struct heap *h, uint64_t bytes)
{
	if (h->total > h->snapshots.peak_limit)
		take(h, SNAPSHOT_PEAK);
	h->total -= bytes;
	h->clock += bytes;
	if (h->clock >= h->snapshots.earliest)
		take(h, SNAPSHOT_NORMAL);
}

static void expect_times(const struct heap *h, const int64_t *times, size_t n)
{
	assert_int_equal(h->snapshots.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(h->snapshots.items[i].time, times[i]);
}

/* One letter a snapshot: p the peak, d detailed, . neither. */
static void expect_kinds(const struct heap *h, const char *kinds)
{
	char found[1001];

	for (size_t i = 0; i < h->snapshots.n; i++) {
		const struct snapshot *s = &h->snapshots.items[i];

		found[i] = s->kind == SNAPSHOT_PEAK ? 'p' : s->detailed ? 'd' : '.';
	}
	found[h->snapshots.n] = '\0';
	assert_string_equal(found, kinds);
}

#define EXPECT_TIMES(h, ...)                                                                                 \
	do {                                                                                                 \
		static const int64_t times[] = { __VA_ARGS__ };                                              \
		expect_times(h, times, sizeof(times) / sizeof(*times));                                      \
	} while (0)

/* A new peak has to exceed the last one by more than one per cent; peaks restart the count. */
static void peaks_exceed_the_last(void **state)
{
	static const uint64_t sizes[] = { 16, 16, 32, 48 };
	struct heap h;

	(void)state;
	heap_begin(&h, 100, 10, 1.0);
	heap_alloc(&h, 1008);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		heap_alloc(&h, sizes[i]);
		heap_free(&h, sizes[i]);
	}
	EXPECT_TIMES(&h, 0, 1008, 1024, 1024, 1040, 1056, 1072, 1104, 1104, 1136, 1184, 1184, 1232);
	expect_kinds(&h, "...d....d..p.");
	snapshots_finish(&h.snapshots);
}

static void equal_total_is_no_peak(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 100, 1000, 0);
	heap_alloc(&h, 100);
	heap_free(&h, 50);
	heap_alloc(&h, 50);
	heap_free(&h, 50);
	expect_kinds(&h, "..p...");
	heap_alloc(&h, 51);
	heap_free(&h, 51);
	expect_kinds(&h, "..d....p.");
	snapshots_finish(&h.snapshots);
}

/* 130.05 is cut to 130: a total of 13136 is above 13005 + 130, one of 13135 isn't. */
static void inaccuracy_is_cut(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 100, 1000, 1.0);
	heap_alloc(&h, 13005);
	heap_free(&h, 5);
	assert_int_equal(h.snapshots.peak_limit, 13135);
	snapshots_finish(&h.snapshots);
}

static void odd_inaccuracies(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 100, 1000, -5.0);
	heap_alloc(&h, 1000);
	heap_free(&h, 10);
	assert_int_equal(h.snapshots.peak_limit, 1000);
	snapshots_finish(&h.snapshots);
	heap_begin(&h, 100, 1000, 1e300);
	heap_alloc(&h, 1000);
	heap_free(&h, 10);
	assert_int_equal(h.snapshots.peak_limit, UINT64_MAX);
	snapshots_finish(&h.snapshots);
}

/* The worked example: ties go to the first, the peak stays, the next interval is 32. */
static void culling_takes_the_narrowest(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 10, 1000, 1.0);
	heap_alloc(&h, 16);
	heap_alloc(&h, 16);
	heap_alloc(&h, 32);
	heap_free(&h, 16);
	heap_alloc(&h, 160);
	heap_alloc(&h, 16);
	heap_alloc(&h, 16);
	assert_int_equal(h.snapshots.n, 9);
	heap_alloc(&h, 320);
	EXPECT_TIMES(&h, 0, 64, 240, 272, 592);
	expect_kinds(&h, ".p...");
	assert_int_equal(h.snapshots.items[1].heap, 64);
	assert_int_equal(h.snapshots.min_interval, 32);
	heap_alloc(&h, 16);
	EXPECT_TIMES(&h, 0, 64, 240, 272, 592);
	heap_alloc(&h, 16);
	EXPECT_TIMES(&h, 0, 64, 240, 272, 592, 624);
	snapshots_finish(&h.snapshots);
}

/* The short gap from the start to an early peak must not decide the interval. */
static void fixed_pair_sets_no_interval(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 10, 1000, 0);
	heap_alloc(&h, 1);
	heap_free(&h, 1);
	for (int i = 0; i < 6; i++)
		heap_alloc(&h, 1000);
	EXPECT_TIMES(&h, 0, 1, 1002, 3002, 6002);
	expect_kinds(&h, ".p...");
	assert_int_equal(h.snapshots.min_interval, 1001);
	snapshots_finish(&h.snapshots);
}

/* A peak is not held back by the interval, and holds back the next normal one. */
static void peak_postpones_normal(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 10, 1000, 1.0);
	for (int i = 0; i < 9; i++)
		heap_alloc(&h, 100);
	EXPECT_TIMES(&h, 0, 200, 400, 600, 900);
	assert_int_equal(h.snapshots.min_interval, 200);
	heap_alloc(&h, 10);
	heap_free(&h, 10);
	EXPECT_TIMES(&h, 0, 200, 400, 600, 900, 910);
	heap_alloc(&h, 180);
	assert_int_equal(h.clock, 1100);
	assert_int_equal(h.snapshots.n, 6);
	heap_alloc(&h, 10);
	EXPECT_TIMES(&h, 0, 200, 400, 600, 900, 910, 1110);
	snapshots_finish(&h.snapshots);
}

/* When a new peak fills the table, the old peak has lost its flag and may be culled. */
static void old_peak_can_be_culled(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 10, 1000, 0);
	heap_alloc(&h, 100);
	heap_alloc(&h, 1);
	heap_free(&h, 1);
	for (int i = 0; i < 4; i++)
		heap_alloc(&h, 1000);
	assert_int_equal(h.snapshots.n, 9);
	expect_kinds(&h, "...p.....");
	heap_free(&h, 1000);
	/* The snapshots at 101, the old peak, and at 102 go before those 1000 apart. */
	EXPECT_TIMES(&h, 0, 1102, 2102, 3102, 4102, 5102);
	expect_kinds(&h, "....p.");
	snapshots_finish(&h.snapshots);
}

static void counts_to_detailed(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 100, 1, 1.0);
	heap_alloc(&h, 1);
	heap_alloc(&h, 1);
	expect_kinds(&h, "ddd");
	snapshots_finish(&h.snapshots);
	heap_begin(&h, 100, 3, 1.0);
	for (int i = 0; i < 7; i++)
		heap_alloc(&h, 1);
	expect_kinds(&h, "..d..d..");
	snapshots_finish(&h.snapshots);
}

/* Gaps of more than 32 bits make an interval of more than 32 bits. */
static void intervals_are_wide(void **state)
{
	const uint64_t gap = (UINT64_C(1) << 32) + 5;
	struct heap h;

	(void)state;
	heap_begin(&h, 10, 1000, 1.0);
	for (int i = 0; i < 9; i++)
		heap_alloc(&h, gap);
	assert_int_equal(h.snapshots.min_interval, 2 * gap);
	snapshots_finish(&h.snapshots);
}

/* While the clock stands still, each call makes a snapshot. */
static void still_clock(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 11, 10, 1.0);
	for (int i = 0; i < 1000; i++)
		heap_alloc(&h, 0);
	assert_int_equal(h.snapshots.min_interval, 0);
	assert_in_range(h.snapshots.n, 6, 10);
	snapshots_finish(&h.snapshots);
}

/* A clock that wraps around must not break anything. */
static void wrapping_clock(void **state)
{
	struct heap h;

	(void)state;
	heap_begin(&h, 10, 2, 1.0);
	for (int i = 0; i < 1000; i++) {
		heap_alloc(&h, UINT64_MAX / 3);
		heap_free(&h, UINT64_MAX / 5);
	}
	assert_in_range(h.snapshots.n, 1, 9);
	snapshots_finish(&h.snapshots);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void expect_same(const struct snapshots *a, const struct snapshots *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->min_interval, b->min_interval);
	assert_int_equal(a->since_detailed, b->since_detailed);
	assert_int_equal(a->earliest, b->earliest);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->items[i].time, b->items[i].time);
		assert_int_equal(a->items[i].heap, b->items[i].heap);
		assert_int_equal(a->items[i].kind, b->items[i].kind);
		assert_int_equal(a->items[i].detailed, b->items[i].detailed);
	}
}

/* Calls at one time that differ in their numbers only. */
static void call(struct heap *h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		h->total++;
		if (h->clock >= h->snapshots.earliest)
			take(h, SNAPSHOT_NORMAL);
	}
}

/* The same without the calls that change no snapshot; returns their number. */
static uint64_t call_some(struct heap *h, uint64_t n)
{
	uint64_t all = 0;

	for (; n; n--) {
		if (snapshots_are_fleeting(&h->snapshots, h->clock)) {
			const uint64_t skipped = snapshots_skip(&h->snapshots, n);

			h->total += skipped;
			all += skipped;
			n -= skipped;
		}
		call(h, 1);
	}
	return all;
}

/* With any times and any peaks, leaving out those calls changes nothing. */
static void what_leaves_no_trace(void **state)
{
	uint32_t random = 1;
	uint64_t skipped = 0, calls = 0;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct heap one, other;
		const unsigned max = 10 + next_random(&random) % 41, freq = 1 + next_random(&random) % 12;
		const unsigned peaks = 1 + next_random(&random) % 20, steps = 1 + next_random(&random) % 4;

		heap_begin(&one, max, freq, 1.0);
		heap_begin(&other, max, freq, 1.0);
		for (unsigned i = 0; i < 150; i++) {
			const uint64_t n = next_random(&random) % (6 * max);

			if (next_random(&random) % peaks == 0) {
				take(&one, SNAPSHOT_PEAK);
				take(&other, SNAPSHOT_PEAK);
			}
			call(&one, n);
			skipped += call_some(&other, n);
			calls += n;
			expect_same(&one.snapshots, &other.snapshots);
			one.clock += next_random(&random) % steps;
			other.clock = one.clock;
		}
		snapshots_finish(&one.snapshots);
		snapshots_finish(&other.snapshots);
	}
	assert_in_range(skipped, calls / 10, calls);
}

/* The steps between times, as wide as a mode of growth makes them. */
static uint64_t next_step(uint32_t *random, unsigned mode)
{
	const uint64_t step = next_random(random);

	return mode == 0   ? step % 4
	       : mode == 1 ? step % 100
	       : mode == 2 ? step << step % 30
			   : UINT64_MAX / 50;
}

/* Snapshots that are taken out many at once are those that would be taken out one by one. */
static void many_at_once(void **state)
{
	uint32_t random = 7;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		const unsigned max = 10 + next_random(&random) % (round % 8 ? 41 : 991);
		const unsigned peaks = 1 + next_random(&random) % 200;
		struct event_log log = { .file = stderr }; /* without lines */
		struct heap one, other;
		unsigned mode = 0;

		heap_begin_logged(&one, max, 5, 1.0, &log);
		heap_begin(&other, max, 5, 1.0);
		for (unsigned i = 0; i < 20 * max; i++) {
			enum snapshot_kind kind =
				next_random(&random) % peaks ? SNAPSHOT_NORMAL : SNAPSHOT_PEAK;

			if (next_random(&random) % max == 0)
				mode = next_random(&random) % (round % 5 ? 3 : 4);
			one.clock += next_step(&random, mode);
			other.clock = one.clock;
			one.total = other.total += 1;
			if (kind == SNAPSHOT_NORMAL && one.clock < one.snapshots.earliest)
				continue;
			take(&one, kind);
			take(&other, kind);
			expect_same(&one.snapshots, &other.snapshots);
		}
		snapshots_finish(&one.snapshots);
		snapshots_finish(&other.snapshots);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peaks_exceed_the_last),
		cmocka_unit_test(equal_total_is_no_peak),
		cmocka_unit_test(inaccuracy_is_cut),
		cmocka_unit_test(odd_inaccuracies),
		cmocka_unit_test(culling_takes_the_narrowest),
		cmocka_unit_test(fixed_pair_sets_no_interval),
		cmocka_unit_test(peak_postpones_normal),
		cmocka_unit_test(old_peak_can_be_culled),
		cmocka_unit_test(counts_to_detailed),
		cmocka_unit_test(intervals_are_wide),
		cmocka_unit_test(still_clock),
		cmocka_unit_test(wrapping_clock),
		cmocka_unit_test(what_leaves_no_trace),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
