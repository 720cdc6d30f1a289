/* SPDX-License-Identifier: MIT */
/*
 * Random traces, written piece by piece while they are read: the reader waits only when it has delivered every chunk
 * that is there, and what it delivers is the same as of the whole trace; through a file and a pipe, with threads too.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mst_writer.h"
#include "trace_model.h"

#define STEPS 1200u

/* A trace that grows. */
struct growth {
	const uint8_t *bytes;
	size_t size, n; /* n: of them are there */
	size_t stop;    /* it grows no further */
	size_t piece;
	int fd;          /* where the next ones go; -1: the pipe is closed */
	uint32_t chunks; /* delivered so far */
	bool early;      /* the reader waited, and a chunk was there */
	bool in_a_pipe;
};

/* The chunks in the first bytes of the trace. */
static uint32_t chunks_in(const struct growth *g)
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	const int fd = model_memfd(g->bytes, g->n);
	uint32_t n = 0;

	if (mst_reader_create(&reader, fd) == 0) {
		while (mst_reader_peek(reader, &chunk) == 1)
			n++;
		mst_reader_destroy(reader);
	}
	close(fd);
	return n;
}

static bool grow(void *context)
{
	struct growth *const g = context;
	size_t n = g->piece;

	g->early |= chunks_in(g) != g->chunks;
	if (g->fd < 0)
		return false;
	if (n > g->stop - g->n)
		n = g->stop - g->n;
	assert_int_equal(write(g->fd, g->bytes + g->n, n), n);
	g->n += n;
	if (n || !g->in_a_pipe)
		return n;
	close(g->fd);
	g->fd = -1;
	return true;
}

/* Reads the trace as it grows. The status of the last call, and what was wrong. */
static int follow(struct growth *g, int fd, unsigned threads, uint64_t *records, char problem[160])
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	int got = mst_reader_follow(&reader, fd, grow, g, problem, 160);

	*records = 0;
	if (got)
		return got;
	assert_int_equal(mst_reader_parallel(reader, threads), 0);
	while ((got = mst_reader_next(reader, &chunk)) == 1) {
		assert_int_equal(chunk->first_record, *records);
		*records += chunk->n_records;
		g->chunks++;
	}
	strcpy(problem, mst_reader_problem(reader));
	mst_reader_destroy(reader);
	return got;
}

/* The same of the bytes as they are. */
static int read_whole(const uint8_t *bytes, size_t size, uint64_t *records, char problem[160])
{
	const int fd = model_memfd(bytes, size);
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	int got = mst_reader_open(&reader, fd, problem, 160);

	*records = 0;
	if (got == 0) {
		while ((got = mst_reader_next(reader, &chunk)) == 1)
			*records += chunk->n_records;
		strcpy(problem, mst_reader_problem(reader));
		mst_reader_destroy(reader);
	}
	close(fd);
	return got;
}

static int file_that_grows(struct growth *g)
{
	char path[] = "/tmp/msrec-follow-XXXXXX";
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	g->fd = open(path, O_WRONLY | O_APPEND);
	unlink(path);
	return fd;
}

static int pipe_that_grows(struct growth *g)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	g->fd = ends[1];
	g->in_a_pipe = true;
	return ends[0];
}

static void check(const struct model *m, size_t piece, unsigned threads, bool in_a_pipe, bool cut)
{
	size_t size;
	uint8_t *bytes = model_bytes(m, &size);
	struct growth g = { .bytes = bytes, .size = size, .stop = cut ? size * 2 / 3 : size, .piece = piece };
	const int fd = in_a_pipe ? pipe_that_grows(&g) : file_that_grows(&g);
	uint64_t records, wanted_records;
	char problem[160], wanted_problem[160];
	const int wanted = read_whole(bytes, g.stop, &wanted_records, wanted_problem);

	assert_int_equal(follow(&g, fd, threads, &records, problem), wanted);
	assert_int_equal(records, wanted_records);
	assert_string_equal(problem, wanted_problem);
	assert_false(g.early);
	close(fd);
	if (g.fd >= 0)
		close(g.fd);
	free(bytes);
}

static void test_random(void **state)
{
	static const size_t pieces[] = { 17, 400, 3001, 60000 };

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		const struct mst_writer_options options = { .identity = seed & 1, .chunk_records = 100 };
		struct model m;

		model_create(&m, seed, &options);
		for (uint32_t i = 0; i < STEPS; i++)
			model_step(&m);
		model_finish(&m);
		for (size_t i = seed % 2; i < sizeof(pieces) / sizeof(*pieces); i += 2) {
			for (unsigned kind = 0; kind < 4; kind++)
				check(&m, pieces[i], seed & 2 ? 3 : 1, kind & 1, kind & 2);
		}
		model_destroy(&m);
	}
}

/* Nothing comes, or too little for a trace. */
static void test_nothing(void **state)
{
	static const uint8_t none[] = { 0x50, 0x2a };
	char problem[160];
	uint64_t records;

	(void)state;
	for (size_t n = 0; n <= sizeof(none); n += sizeof(none)) {
		struct growth g = { .bytes = none, .size = n, .stop = n, .piece = 1 };
		const int fd = file_that_grows(&g);

		assert_int_equal(follow(&g, fd, 1, &records, problem),
				 n ? MST_ERR_NOT_A_TRACE : MST_ERR_EMPTY);
		close(fd);
		close(g.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
