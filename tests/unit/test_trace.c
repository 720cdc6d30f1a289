/* SPDX-License-Identifier: MIT */
/* The reader delivers what the writer got, call by call, with all options. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "craft.h"
#include "mst_limits.h"
#include "trace_model.h"

static void steps(struct model *m, uint32_t n)
{
	while (n--)
		model_step(m);
}

/* Finishes, reads, expects everything. */
static void finish(struct model *m)
{
	model_finish(m);
	assert_int_equal(lseek(m->fd, 0, SEEK_SET), 0);
	assert_int_equal(model_read(m, m->fd).status, 0);
	assert_int_equal(lseek(m->fd, 0, SEEK_SET), 0);
	assert_int_equal(model_read_ahead(m, m->fd, 3).status, 0);
}

static void test_round_trips(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 64, 300, 0, 1000000 };
	struct model m;

	(void)state;
	for (uint64_t seed = 0; seed < 64; seed++) {
		model_create(&m, seed,
			     &(struct mst_writer_options){ .level = (int)(seed % 5),
							   .chunk_records = sizes[seed / 2 % 8],
							   .recoded = seed % 4 == 1,
							   .identity = seed % 2 });
		steps(&m, 1500);
		finish(&m);
		model_destroy(&m);
	}
}

/* Long enough to fill a default chunk, and to wrap the chunks' numbers of tokens. */
static void test_many_chunks(void **state)
{
	static const struct mst_writer_options options[] = { { .identity = true },
							     { .chunk_records = 2 },
							     { .identity = true, .recoded = true } };
	struct model m;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		model_create(&m, 77 + i, &options[i]);
		steps(&m, 100000);
		finish(&m);
		model_destroy(&m);
	}
}

static void test_nothing(void **state)
{
	struct model m;

	(void)state;
	model_create(&m, 5, &(struct mst_writer_options){ 0 });
	finish(&m);
	model_destroy(&m);
}

static void test_only_null_frees(void **state)
{
	struct model m;

	(void)state;
	model_create(&m, 6, &(struct mst_writer_options){ 0 });
	for (uint64_t i = 1; i <= 3; i++) {
		mst_writer_null_frees(m.writer, i);
		m.null_frees += i;
		assert_int_equal(mst_writer_flush(m.writer), 0);
		if (i == 2)
			steps(&m, 50);
	}
	finish(&m);
	model_destroy(&m);
}

/* More kinds than 16 bits can number, and a chunk with another token for every record. */
static void test_many_kinds(void **state)
{
	struct model m;
	uint64_t ordinal;

	(void)state;
	model_create(&m, 7, &(struct mst_writer_options){ 0 });
	while (m.kinds.n < 200000)
		model_kind(&m);
	steps(&m, 1);
	for (uint32_t kind = 1; kind < 150000; kind++) {
		const uint64_t before = mst_writer_blocks(m.writer, kind);

		assert_int_equal(mst_writer_alloc(m.writer, kind, &ordinal), 0);
		assert_true(ordinal == before);
	}
	assert_int_equal(mst_writer_flush(m.writer), 0);
	{
		const struct mst_chunk *chunk;
		struct mst_reader *r;
		uint64_t n = 0;

		assert_int_equal(lseek(m.fd, 0, SEEK_SET), 0);
		assert_int_equal(mst_reader_create(&r, m.fd), 0);
		while (mst_reader_next(r, &chunk) == 1) {
			struct mst_cursor cursor = MST_CURSOR(chunk);
			struct mst_event event;

			while (mst_cursor_next(&cursor, &event))
				if (n++ >= m.events.n)
					assert_int_equal(event.kind, n - m.events.n);
			assert_true(chunk->n_tokens + 2 >= chunk->n_records);
		}
		assert_int_equal(n, 149999 + m.events.n);
		mst_reader_destroy(r);
	}
	model_destroy(&m);
}

static void test_deepest_stack(void **state)
{
	struct model m;
	struct mst_stack stack = { MST_ROOT_STACK, 0 };
	uint32_t id;

	(void)state;
	model_create(&m, 8, &(struct mst_writer_options){ 0 });
	steps(&m, 100);
	for (uint32_t i = 0; i < MST_MAX_DEPTH; i++) {
		assert_int_equal(mst_writer_stack(m.writer, &stack, &id), 0);
		stack.parent = id;
	}
	assert_int_equal(mst_writer_stack(m.writer, &stack, &id), MST_ERR_LIMIT);
	assert_int_equal(mst_writer_kind(m.writer, &(struct mst_kind){ .op = 1, .stack = stack.parent }, &id),
			 0);
	assert_int_equal(mst_writer_call(m.writer, id), 0);
	assert_int_equal(mst_writer_flush(m.writer), 0);
	{
		const struct mst_chunk *chunk;
		struct mst_reader *r;
		uint32_t n;

		assert_int_equal(lseek(m.fd, 0, SEEK_SET), 0);
		assert_int_equal(mst_reader_create(&r, m.fd), 0);
		while (mst_reader_next(r, &chunk) == 1)
			continue;
		mst_reader_stacks(r, &n);
		assert_true(n > MST_MAX_DEPTH);
		mst_reader_destroy(r);
	}
	model_destroy(&m);
}

static void test_pipe(void **state)
{
	struct model m;
	size_t size;
	uint8_t *bytes;
	int ends[2];

	(void)state;
	model_create(&m, 9, &(struct mst_writer_options){ .chunk_records = 50, .identity = true });
	steps(&m, 500);
	model_finish(&m);
	bytes = model_bytes(&m, &size);
	assert_int_equal(pipe(ends), 0);
	assert_true(write(ends[1], bytes, size) == (ssize_t)size);
	close(ends[1]);
	assert_int_equal(model_read(&m, ends[0]).status, 0);
	close(ends[0]);
	free(bytes);
	model_destroy(&m);
}

/* Parent, child and grandchild; the child forks before it has a file. */
static void test_forks(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 16; seed++) {
		struct model parent, child, grandchild;

		model_create(&parent, seed,
			     &(struct mst_writer_options){ .chunk_records = 40, .identity = seed % 2 });
		steps(&parent, seed ? 300 + 7 * (uint32_t)seed : 0);
		model_fork_state(&parent, &child);
		steps(&parent, 200);
		model_fork_state(&child, &grandchild);
		model_fork_file(&child);
		steps(&child, 333);
		if (seed % 3 == 0)
			finish(&parent);
		model_fork_file(&grandchild);
		steps(&grandchild, 150);
		finish(&grandchild);
		finish(&child);
		if (seed % 3)
			finish(&parent);
		model_destroy(&parent);
		model_destroy(&child);
		model_destroy(&grandchild);
	}
}

static size_t size_with_forks(uint32_t forks)
{
	struct mst_writer *child;
	struct model m;
	size_t size;

	model_create(&m, 11, &(struct mst_writer_options){ .identity = true });
	for (uint32_t i = 0; i < 200; i++) {
		steps(&m, 5);
		if (i < forks) {
			assert_int_equal(mst_writer_fork_state(m.writer, &child), 0);
			mst_writer_destroy(child);
		}
	}
	finish(&m);
	free(model_bytes(&m, &size));
	model_destroy(&m);
	return size;
}

/* A fork seals no chunk: there may be thousands. */
static void test_forks_leave_nothing(void **state)
{
	(void)state;
	assert_int_equal(size_with_forks(200), size_with_forks(0));
}

/* After every flush the file has all events so far; the reader reports the missing end. */
static void test_flushed_is_readable(void **state)
{
	struct model m;

	(void)state;
	model_create(&m, 10, &(struct mst_writer_options){ .chunk_records = 100 });
	for (int i = 0; i < 20; i++) {
		struct model_reading reading;
		size_t size;
		uint8_t *bytes;
		int fd;

		steps(&m, 77);
		assert_int_equal(mst_writer_flush(m.writer), 0);
		bytes = model_bytes(&m, &size);
		fd = model_memfd(bytes, size);
		reading = model_read(&m, fd);
		assert_int_equal(reading.status, MST_ERR_TRUNCATED);
		assert_non_null(strstr(reading.problem, "no end mark"));
		assert_int_equal(reading.events, m.events.n);
		close(fd);
		free(bytes);
	}
	model_destroy(&m);
}

/* The writer refuses undefined ids, and the trace is as without these calls. */
static void test_bad_ids(void **state)
{
	struct model m;
	uint32_t kind, id;
	uint64_t ordinal;

	(void)state;
	model_create(&m, 11, &(struct mst_writer_options){ .identity = true });
	assert_int_equal(mst_writer_alloc(m.writer, 0, &ordinal), MST_ERR_ARGUMENT); /* no thread yet */
	for (int i = 0; i < 50; i++) {
		steps(&m, 3);
		kind = (uint32_t)m.kinds.n;
		assert_int_equal(mst_writer_alloc(m.writer, kind, &ordinal), MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_free(m.writer, kind, UINT64_MAX), MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_free(m.writer, 0, mst_writer_blocks(m.writer, 0)),
				 MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_free_by(m.writer, 0, UINT64_MAX, kind), MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_resize(m.writer, 0, UINT64_MAX, kind, &ordinal),
				 MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_resize(m.writer, kind, UINT64_MAX, 0, &ordinal),
				 MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_call(m.writer, kind), MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_failed_resize(m.writer, kind, 0, 0), MST_ERR_ARGUMENT);
		mst_writer_at(m.writer, m.time_ns, (uint32_t)m.threads.n);
		assert_int_equal(mst_writer_call(m.writer, 0), MST_ERR_ARGUMENT);
		assert_int_equal(mst_writer_page(m.writer, 0, 4096), MST_ERR_ARGUMENT);
		mst_writer_at(m.writer, m.time_ns, m.thread);
	}
	assert_int_equal(mst_writer_kind(m.writer, &(struct mst_kind){ .stack = (uint32_t)m.stacks.n }, &id),
			 MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_kind(m.writer, &(struct mst_kind){ .size = 2, .cap = 1 }, &id),
			 MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_kind(m.writer, &(struct mst_kind){ .op = MST_OP_COUNT }, &id),
			 MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_frame(m.writer, &(struct mst_frame){ .module = 65535 }, &id),
			 MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_stack(m.writer, &(struct mst_stack){ 0, (uint32_t)m.frames.n }, &id),
			 MST_ERR_ARGUMENT);
	finish(&m);
	model_destroy(&m);
}

static void test_bad_ids_of_a_transfer(void **state)
{
	struct mst_remap *remap;
	struct model from, to;
	uint32_t id;

	(void)state;
	model_create(&from, 1, &(struct mst_writer_options){ 0 });
	model_create(&to, 2, &(struct mst_writer_options){ 0 });
	assert_int_equal(mst_remap_between(&remap, from.writer, to.writer), 0);
	assert_int_equal(mst_remap_stack(remap, MST_ROOT_STACK, &id), 0);
	assert_int_equal(id, MST_ROOT_STACK);
	assert_int_equal(mst_remap_stack(remap, 1000000, &id), MST_ERR_ARGUMENT);
	assert_int_equal(mst_remap_frame(remap, MST_NONE, &id), MST_ERR_ARGUMENT);
	mst_remap_destroy(remap);
	model_destroy(&from);
	model_destroy(&to);
}

/* The reasons in END; those of a later revision read as unknown. */
static void test_reasons(void **state)
{
	static const uint32_t written[] = { 0, 1, 2, 3, 4, 5, 255, 256, 259, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
		const struct mst_chunk *chunk;
		struct mst_reader *r;
		struct craft craft;
		struct bytes bytes;
		int fd;

		craft_begin(&craft);
		craft_poke(&FIELDS(&craft, END), 0, written[i]);
		bytes = craft_encode(&craft);
		fd = model_memfd(bytes.data, bytes.size);
		assert_int_equal(mst_reader_create(&r, fd), 0);
		while (mst_reader_next(r, &chunk) == 1)
			;
		assert_int_equal(mst_reader_end(r)->reason,
				 written[i] < MST_END_UNKNOWN ? written[i] : MST_END_UNKNOWN);
		mst_reader_destroy(r);
		close(fd);
		bytes_free(&bytes);
		craft_finish(&craft);
	}
}

static void test_long_command_line(void **state)
{
	const uint32_t n = MST_MAX_ARGS + 10;
	const char **argv = malloc(n * sizeof(*argv));
	char *text = malloc(MST_MAX_TEXT + 11);
	struct mst_file_info info = { .recorder = "r", .exe = text, .cwd = "/", .argc = n, .argv = argv };
	const int fd = model_memfd(NULL, 0);
	struct mst_writer *w;
	struct mst_reader *r;

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		argv[i] = i % 2 ? "x" : "yy";
	memset(text, 'a', MST_MAX_TEXT + 10);
	text[MST_MAX_TEXT + 10] = 0;
	assert_int_equal(mst_writer_create(&w, fd, &info, &(struct mst_writer_options){ 0 }), 0);
	mst_writer_destroy(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(mst_reader_create(&r, fd), 0);
	assert_int_equal(mst_reader_info(r)->argc, MST_MAX_ARGS);
	assert_string_equal(mst_reader_info(r)->argv[MST_MAX_ARGS - 1], "x");
	assert_int_equal(strlen(mst_reader_info(r)->exe), MST_MAX_TEXT);
	mst_reader_destroy(r);
	close(fd);
	free(text);
	free(argv);
}

/*
 * A file that may not grow further: no cut unit stays, sealed units are readable, and if there is room for
 * an end after all, it has the number of missing events.
 */
static void test_full_disk(void **state)
{
	struct rlimit before, limit;
	struct mst_end end = { .reason = MST_END_SIGNAL };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	for (rlim_t most = 200; most < 12000; most += 331) {
		struct model_reading reading;
		struct model m;
		uint64_t ordinal;
		int err;

		model_create(&m, 4, &(struct mst_writer_options){ .chunk_records = 64 });
		while (m.events.n < 20)
			model_step(&m);
		limit.rlim_cur = most;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		while ((err = mst_writer_alloc(m.writer, m.kinds.n > 20000 ? 0 : model_kind(&m), &ordinal)) ==
		       0)
			continue;
		assert_int_equal(errno, EFBIG);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(err, MST_ERR_IO);
		assert_int_equal(mst_writer_flush(m.writer), MST_ERR_IO);
		assert_true(lseek(m.fd, 0, SEEK_END) == (off_t)mst_writer_bytes(m.writer));
		assert_true(mst_writer_bytes(m.writer) <= most);
		end.events = mst_writer_events(m.writer);
		end.lost = 3;
		assert_int_equal(mst_writer_finish(m.writer, &end), MST_ERR_IO);
		{
			const struct mst_chunk *chunk;
			struct mst_reader *r;
			uint64_t events = 0;

			assert_int_equal(lseek(m.fd, 0, SEEK_SET), 0);
			assert_int_equal(mst_reader_create(&r, m.fd), 0);
			while ((reading.status = mst_reader_next(r, &chunk)) == 1)
				events += chunk->sums.events + chunk->sums.null_frees;
			assert_int_equal(reading.status, 0);
			assert_int_equal(mst_reader_end(r)->events, events);
			assert_int_equal(mst_reader_end(r)->lost, 3 + mst_writer_events(m.writer) - events);
			mst_reader_destroy(r);
		}
		model_destroy(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_many_chunks),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_only_null_frees),
		cmocka_unit_test(test_many_kinds),
		cmocka_unit_test(test_deepest_stack),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_forks_leave_nothing),
		cmocka_unit_test(test_flushed_is_readable),
		cmocka_unit_test(test_bad_ids),
		cmocka_unit_test(test_bad_ids_of_a_transfer),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_long_command_line),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
