/* SPDX-License-Identifier: MIT */
/* Traces with an initial state and with large chunks: the reader delivers what the writer got. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "mst_limits.h"
#include "mst_writer.h"

#define BEGIN_NS 5000000u
#define BLOCKS 40u
#define PAST 3u /* kinds of which no block is live */

struct sum {
	uint64_t base_allocs, base_marks, past, calls, frees, events;
	uint64_t last_time;
	uint32_t chunks, largest, tokens;
	int64_t net;
};

static struct mst_writer *create(int fd, bool initial, uint32_t chunk_records)
{
	const struct mst_file_info info = { .pid = 1,
					    .recorder = "test",
					    .exe = "",
					    .cwd = "",
					    .initial_state = initial,
					    .begin_ns = initial ? BEGIN_NS : 0 };
	const struct mst_writer_options options = { .identity = true, .chunk_records = chunk_records };
	struct mst_writer *w;
	uint32_t thread;

	assert_int_equal(mst_writer_create(&w, fd, &info, &options), 0);
	assert_int_equal(mst_writer_thread(w, &(struct mst_thread){ .tid = 7 }, &thread), 0);
	return w;
}

static uint32_t kind(struct mst_writer *w, uint8_t op, uint64_t size)
{
	const struct mst_kind k = { .op = op, .size = size, .cap = size };
	uint32_t id;

	assert_int_equal(mst_writer_kind(w, &k, &id), 0);
	return id;
}

static void write_base(struct mst_writer *w)
{
	uint64_t ordinal;

	for (uint32_t i = 0; i < PAST; i++)
		assert_int_equal(mst_writer_past(w, kind(w, MST_OP_MALLOC, 1000 + i)), 0);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		mst_writer_at(w, 100000 * i, 0);
		assert_int_equal(mst_writer_alloc(w, kind(w, MST_OP_MALLOC, i), &ordinal), 0);
		assert_int_equal(ordinal, 0);
	}
	assert_int_equal(mst_writer_call(w, kind(w, MST_OP_STACK, 4096)), 0);
	assert_int_equal(mst_writer_end_initial_state(w), 0);
	assert_int_equal(mst_writer_events(w), 0);
}

static struct sum read_all(int fd)
{
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	struct sum sum = { 0 };
	uint32_t n;
	int got;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(mst_reader_create(&r, fd), 0);
	while ((got = mst_reader_next(r, &chunk)) > 0) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event e;

		for (uint32_t i = 0; i < chunk->n_tokens; i++)
			sum.past += chunk->initial && chunk->tokens[i].count == 0;
		while (mst_cursor_next(&cursor, &e)) {
			sum.base_allocs += chunk->initial && e.type == MST_EVENT_ALLOC;
			sum.base_marks += chunk->initial && e.type == MST_EVENT_CALL;
			sum.calls += !chunk->initial;
			sum.frees += e.type == MST_EVENT_FREE;
			/* The blocks of the initial state have the first indices, in the order of their sizes. */
			if (e.type == MST_EVENT_FREE)
				assert_int_equal(e.old_index, mst_reader_kinds(r, &n)[e.old_kind].size);
			assert_true(chunk->initial ? e.time << 10 <= BEGIN_NS + 1024
						   : e.time >= sum.last_time);
			sum.last_time = e.time;
		}
		assert_true(!chunk->initial || (chunk->sums.events == 0 && chunk->sums.moved16 == 0 &&
						chunk->sums.changes == 0));
		sum.events += chunk->sums.events;
		sum.net += chunk->sums.net_blocks;
		sum.chunks++;
		sum.largest = chunk->n_records > sum.largest ? chunk->n_records : sum.largest;
		sum.tokens = chunk->n_tokens > sum.tokens ? chunk->n_tokens : sum.tokens;
	}
	assert_int_equal(got, 0);
	assert_int_equal(mst_reader_end(r)->events, sum.events);
	mst_reader_destroy(r);
	return sum;
}

static void finish(struct mst_writer *w)
{
	struct mst_end end = { .reason = MST_END_EXIT, .events = mst_writer_events(w) };

	assert_int_equal(mst_writer_finish(w, &end), 0);
	mst_writer_destroy(w);
}

/* Frees of blocks of the initial state, and new blocks that stay. */
static void write_calls(struct mst_writer *w, uint32_t first, uint32_t n)
{
	uint64_t ordinal;

	for (uint32_t i = first; i < first + n; i++) {
		assert_int_equal(mst_writer_free(w, kind(w, MST_OP_MALLOC, i), 0), 0);
		assert_int_equal(mst_writer_alloc(w, kind(w, MST_OP_CALLOC, i), &ordinal), 0);
	}
}

static void test_round_trip(void **state)
{
	static const uint32_t sizes[] = { 2, 7, 65536 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const int fd = memfd_create("initial", MFD_CLOEXEC);
		struct mst_writer *w = create(fd, true, sizes[i]);
		struct sum sum;

		write_base(w);
		write_calls(w, 0, 10);
		finish(w);
		sum = read_all(fd);
		assert_int_equal(sum.base_allocs, BLOCKS);
		assert_int_equal(sum.base_marks, 1);
		assert_int_equal(sum.past, PAST);
		assert_int_equal(sum.calls, 20);
		assert_int_equal(sum.events, 20);
		assert_int_equal(sum.frees, 10);
		assert_int_equal(sum.net, BLOCKS);
		assert_true(sum.last_time << 10 >= BEGIN_NS);
		close(fd);
	}
}

/* A child begins with its parent's initial state. */
static void test_fork(void **state)
{
	const struct mst_file_info info = {
		.pid = 2, .parent_pid = 1, .recorder = "test", .exe = "", .cwd = ""
	};
	const int fd = memfd_create("initial", MFD_CLOEXEC), own = memfd_create("child", MFD_CLOEXEC);
	struct mst_writer *w = create(fd, true, 16), *child;
	struct sum sum;

	(void)state;
	write_base(w);
	write_calls(w, 0, 5);
	assert_int_equal(mst_writer_fork_state(w, &child), 0);
	write_calls(w, 5, 5);
	assert_int_equal(mst_writer_fork_file(child, own, &info), 0);
	write_calls(child, 20, 3);
	finish(child);
	finish(w);
	sum = read_all(own);
	assert_int_equal(sum.base_allocs, BLOCKS);
	assert_int_equal(sum.calls, 16);
	assert_int_equal(read_all(fd).calls, 20);
	close(fd);
	close(own);
}

static void test_misplaced(void **state)
{
	const int fd = memfd_create("initial", MFD_CLOEXEC);
	struct mst_writer *w = create(fd, false, 0);

	(void)state;
	assert_int_equal(mst_writer_past(w, 0), MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_end_initial_state(w), MST_ERR_ARGUMENT);
	finish(w);
	close(fd);
}

/* Chunks of a million records; with one kind for each, a chunk has too many tokens. */
static void test_large_chunks(void **state)
{
	const int fd = memfd_create("large", MFD_CLOEXEC);
	struct mst_writer *w = create(fd, false, MST_MAX_CHUNK_RECORDS);
	const uint32_t same = kind(w, MST_OP_NEW, 8), n = MST_MAX_CHUNK_RECORDS + 5,
		       many = MST_MAX_TOKENS + 9;
	uint64_t ordinal;
	struct sum sum;

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(mst_writer_alloc(w, same, &ordinal), 0);
	for (uint32_t i = 0; i < many; i++)
		assert_int_equal(mst_writer_alloc(w, kind(w, MST_OP_MALLOC, i), &ordinal), 0);
	finish(w);
	sum = read_all(fd);
	assert_int_equal(sum.events, n + many);
	assert_int_equal(sum.largest, MST_MAX_CHUNK_RECORDS);
	assert_true(sum.tokens <= MST_MAX_TOKENS && sum.tokens > MST_MAX_TOKENS / 2);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_misplaced),
		cmocka_unit_test(test_large_chunks),
	};

	return cmocka_run_group_tests_name("traces with an initial state", tests, NULL, NULL);
}
