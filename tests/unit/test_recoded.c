/* SPDX-License-Identifier: MIT */
/* Traces with numbers of tokens at a limit, and recoded ordinals: the reader delivers what the writer got. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "mst_limits.h"
#include "mst_writer.h"
#include "unit.h"

#define CALLERS 8u

static uint32_t stack(struct mst_writer *w, uint32_t parent, uint64_t address)
{
	uint32_t frame, id;

	assert_int_equal(
		mst_writer_frame(w, &(struct mst_frame){ .module = MST_NONE, .address = address }, &frame),
		0);
	assert_int_equal(mst_writer_stack(w, &(struct mst_stack){ .parent = parent, .frame = frame }, &id),
			 0);
	return id;
}

/* The address that kind i's stack begins with: each fifth kind has that of the first one. */
static uint64_t address_of(uint32_t i)
{
	return 1000 + 16 * (uint64_t)(i % 5 ? i : 0);
}

/*
 * The kind (of n) of the trace's i-th call: each new kind in turn, followed by an earlier one; then all once more, and
 * the last one again.
 */
static uint32_t kind_of(uint32_t call, uint32_t n)
{
	const uint32_t i = call / 2;

	if (call >= 2 * n)
		return call < 3 * n ? call - 2 * n : n - 1;
	return call % 2 == 0 || i % 3 == 0 ? i : i / 2;
}

static uint32_t kind(struct mst_writer *w, uint32_t i)
{
	const uint64_t address = address_of(i);
	const uint32_t caller = stack(w, 0, address % CALLERS + 1);
	const struct mst_kind k = {
		.op = MST_OP_MALLOC,
		.stack = stack(w, stack(w, caller, address + 1), address),
		.size = i,
		.cap = i,
	};
	uint32_t id;

	assert_int_equal(mst_writer_kind(w, &k, &id), 0);
	return id;
}

/* The second chunk begins after `flush_at` kinds, the last one after the first use of all kinds. */
static void write_trace(int fd, uint32_t n, uint32_t flush_at)
{
	const struct mst_file_info info = { .recorder = "test", .exe = "", .cwd = "" };
	const struct mst_writer_options options = { .chunk_records = 1u << 20, .recoded = true };
	struct mst_writer *w;
	struct mst_end end = { 0 };
	uint32_t thread;
	uint64_t ordinal;

	assert_int_equal(mst_writer_create(&w, fd, &info, &options), 0);
	assert_int_equal(mst_writer_thread(w, &(struct mst_thread){ .tid = 7 }, &thread), 0);
	for (uint32_t i = 0; i <= 3 * n; i++) {
		if (i == 2 * flush_at || i == 2 * n)
			assert_int_equal(mst_writer_flush(w), 0);
		assert_int_equal(mst_writer_alloc(w, kind(w, kind_of(i, n)), &ordinal), 0);
	}
	end.events = mst_writer_events(w);
	assert_int_equal(mst_writer_finish(w, &end), 0);
	mst_writer_destroy(w);
}

static void check_kind(const struct mst_reader *r, uint32_t id, uint32_t i)
{
	uint32_t n;
	const struct mst_kind *k = &mst_reader_kinds(r, &n)[id];
	const struct mst_stack *stacks = mst_reader_stacks(r, &n);
	const struct mst_frame *frames = mst_reader_frames(r, &n);
	const struct mst_stack *inner = &stacks[k->stack], *outer = &stacks[inner->parent];

	assert_int_equal(k->size, i);
	assert_int_equal(frames[inner->frame].address, address_of(i));
	assert_int_equal(frames[outer->frame].address, address_of(i) + 1);
	assert_int_equal(frames[stacks[outer->parent].frame].address, address_of(i) % CALLERS + 1);
	assert_int_equal(stacks[outer->parent].parent, 0);
}

static void read_trace(int fd, uint32_t n)
{
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	uint32_t number = 0;
	int got;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(mst_reader_create(&r, fd), 0);
	while ((got = mst_reader_next(r, &chunk)) > 0) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event e;

		for (; mst_cursor_next(&cursor, &e); number++)
			check_kind(r, e.kind, kind_of(number, n));
	}
	assert_int_equal(got, 0);
	assert_int_equal(number, 3 * n + 1);
	mst_reader_destroy(r);
}

/* The set of columns of all EVENTS units, a bit each. */
static uint32_t columns_of(int fd)
{
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;
	uint32_t found = 0;
	uint64_t at = 0;

	for (uint32_t size; (size = unit_read(fd, at, bytes, &header)); at += unit_bytes(&header, size)) {
		for (uint32_t i = 0; header.type == UNIT_EVENTS && i < header.n_columns; i++)
			found |= 1u << header.columns[i].id;
	}
	return found;
}

static void round_trip(uint32_t n, uint32_t flush_at)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	write_trace(fd, n, flush_at);
	read_trace(fd, n);
	close(fd);
}

static void test_sizes(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 254, 255, 256, 257, 258, 1000, 65534, 65535, 65536, 65537 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		round_trip(sizes[i], 0);
}

/* Definitions in two units: the second continues the first's numbers. */
static void test_two_units(void **state)
{
	(void)state;
	for (uint32_t flush_at = 990; flush_at < 1010; flush_at++)
		round_trip(2000, flush_at);
}

/* ---- blocks: the same calls as in a trace that isn't recoded ---- */

#define KINDS 4u
#define BLOCKS 64u /* of each kind, before they are freed */
#define ROUNDS 60u

/* The order of freeing the blocks of all kinds. */
enum order {
	KIND_BY_KIND, /* one kind's oldest, another's newest first, the kinds by chance */
	ALL_ALIKE,    /* those of several kinds at once */
};

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 33) % n);
}

/* Time goes on by the same step, behind a random number of calls. */
static void tell_time(struct mst_writer *w, uint64_t *seed, uint64_t *time)
{
	*time += below(seed, 12) == 0 ? 3u << 16 : 0;
	mst_writer_at(w, *time, 0);
}

static void free_kind_by_kind(struct mst_writer *w, const uint32_t *kinds, uint64_t first, uint64_t *seed,
			      uint64_t *time)
{
	uint32_t freed[KINDS] = { 0 };

	for (uint32_t left = KINDS * BLOCKS; left > 0; left--) {
		uint32_t k = below(seed, KINDS);

		while (freed[k] == BLOCKS)
			k = (k + 1) % KINDS;
		tell_time(w, seed, time);
		assert_int_equal(
			mst_writer_free(w, kinds[k], first + (k % 2 ? BLOCKS - 1 - freed[k] : freed[k])), 0);
		freed[k]++;
	}
}

/* The same ordinal of half of the kinds, and later of the others, so that the orders of the kinds differ. */
static void free_all_alike(struct mst_writer *w, const uint32_t *kinds, uint64_t first, uint64_t *seed,
			   uint64_t *time)
{
	bool freed[KINDS][BLOCKS] = { 0 };

	for (uint32_t i = 0; i < 2 * BLOCKS; i++) {
		const uint32_t ordinal = i * 37 % BLOCKS;

		for (uint32_t k = 0; k < KINDS; k++) {
			if (freed[k][ordinal] || (i < BLOCKS && below(seed, 2) == 0))
				continue;
			freed[k][ordinal] = true;
			tell_time(w, seed, time);
			assert_int_equal(mst_writer_free(w, kinds[k], first + ordinal), 0);
		}
	}
}

static int write_calls(enum order order, bool recoded)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	const struct mst_file_info info = { .recorder = "test", .exe = "", .cwd = "" };
	const struct mst_writer_options options = {
		.chunk_records = 1u << 20, .identity = true, .exact_times = true, .recoded = recoded
	};
	uint64_t seed = 1, time = 0, ordinal;
	uint32_t kinds[KINDS], thread;
	struct mst_end end = { 0 };
	struct mst_writer *w;

	assert_true(fd >= 0);
	assert_int_equal(mst_writer_create(&w, fd, &info, &options), 0);
	assert_int_equal(mst_writer_thread(w, &(struct mst_thread){ .tid = 7 }, &thread), 0);
	for (uint32_t k = 0; k < KINDS; k++)
		kinds[k] = kind(w, k);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < KINDS * BLOCKS; i++) {
			tell_time(w, &seed, &time);
			assert_int_equal(mst_writer_alloc(w, kinds[i % KINDS], &ordinal), 0);
		}
		(order == ALL_ALIKE ? free_all_alike : free_kind_by_kind)(w, kinds, (uint64_t)round * BLOCKS,
									  &seed, &time);
	}
	end.events = mst_writer_events(w);
	assert_int_equal(mst_writer_finish(w, &end), 0);
	mst_writer_destroy(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void assert_same_calls(int one, int other)
{
	const struct mst_chunk *chunks[2];
	struct mst_reader *readers[2];
	struct mst_event a, b;

	assert_int_equal(mst_reader_create(&readers[0], one), 0);
	assert_int_equal(mst_reader_create(&readers[1], other), 0);
	assert_int_equal(mst_reader_next(readers[0], &chunks[0]), 1);
	assert_int_equal(mst_reader_next(readers[1], &chunks[1]), 1);
	struct mst_cursor x = MST_CURSOR(chunks[0]), y = MST_CURSOR(chunks[1]);

	assert_int_equal(chunks[0]->n_records, 2 * KINDS * BLOCKS * ROUNDS);
	while (mst_cursor_next(&x, &a)) {
		assert_true(mst_cursor_next(&y, &b));
		assert_true(a.type == b.type && a.kind == b.kind && a.old_kind == b.old_kind);
		assert_true(a.time == b.time && a.index == b.index && a.old_index == b.old_index);
	}
	assert_false(mst_cursor_next(&y, &b));
	mst_reader_destroy(readers[0]);
	mst_reader_destroy(readers[1]);
}

static void test_calls(void **state)
{
	static const uint8_t ordinals[] = {
		[KIND_BY_KIND] = COLUMN_ORDINALS, [ALL_ALIKE] = COLUMN_ORDINALS_IN_A_ROW
	};

	(void)state;
	for (enum order order = KIND_BY_KIND; order <= ALL_ALIKE; order++) {
		const int plain = write_calls(order, false), recoded = write_calls(order, true);
		const uint32_t columns = columns_of(recoded);

		assert_same_calls(plain, recoded);
		assert_true(columns & 1u << ordinals[order]);
		close(plain);
		close(recoded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_two_units),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests_name("recoded traces", tests, NULL, NULL);
}
