/* SPDX-License-Identifier: MIT */
/*
 * Files that are cut, flipped, sparse, or random: the reader delivers the sound beginning, reports the problem, and
 * delivers nothing more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace_model.h"
#include "unit.h"
#include "wire.h"

static void small_trace(struct model *m, uint64_t seed)
{
	model_create(
		m, seed,
		&(struct mst_writer_options){ .chunk_records = 8, .identity = true, .recoded = seed % 2 });
	while (m->events.n < 24)
		model_step(m);
	model_finish(m);
}

static struct model_reading read_bytes(const struct model *m, const uint8_t *bytes, size_t size)
{
	const int fd = model_memfd(bytes, size);
	const struct model_reading reading = model_read(m, fd);
	static unsigned number;

	/* Threads deliver and report the same. The test starts them seldom, because that takes most of its time. */
	if (number++ % 8 == 0) {
		struct model_reading ahead;

		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		ahead = model_read_ahead(m, fd, 2);
		assert_int_equal(ahead.status, reading.status);
		assert_int_equal(ahead.events, reading.events);
		assert_int_equal(ahead.null_frees, reading.null_frees);
		assert_string_equal(ahead.problem, reading.problem);
	}
	close(fd);
	return reading;
}

/* The size of the unit at `at`, from its own header; *type is its type. */
static size_t unit_size(const uint8_t *at, uint8_t *type)
{
	struct unit_header header;
	const uint32_t size = wire_u32(at + 4);
	size_t whole = UNIT_PREFIX + size;

	assert_null(unit_parse(at + UNIT_PREFIX, size, &header));
	for (uint32_t i = 0; i < header.n_columns; i++)
		whole += header.columns[i].stored;
	*type = header.type;
	return whole;
}

/* How many events a file cut at `cut` still has: those of its whole EVENTS units. */
static size_t events_before(const uint8_t *bytes, size_t size, size_t cut)
{
	size_t n = 0;

	for (size_t at = 0; at < size;) {
		uint8_t type;
		const size_t unit = unit_size(bytes + at, &type);

		if (at + unit > cut)
			break;
		if (type == UNIT_EVENTS)
			n += wire_u64(bytes + at + UNIT_PREFIX + UNIT_FIXED + 48);
		at += unit;
	}
	return n;
}

static void test_truncation(void **state)
{
	struct model m;
	size_t size;
	uint8_t *bytes;

	(void)state;
	small_trace(&m, 1);
	bytes = model_bytes(&m, &size);
	for (size_t cut = 0; cut < size; cut++) {
		const struct model_reading reading = read_bytes(&m, bytes, cut);

		assert_int_equal(reading.status, cut == 0                         ? MST_ERR_EMPTY
						 : cut < UNIT_PREFIX + UNIT_FIXED ? MST_ERR_NOT_A_TRACE
										  : MST_ERR_TRUNCATED);
		assert_int_equal(reading.events, events_before(bytes, size, cut));
	}
	assert_int_equal(read_bytes(&m, bytes, size).status, 0);
	free(bytes);
	model_destroy(&m);
}

/* Whether the reader detects one wrong bit. */
static bool flip_noticed(const struct model *m, uint8_t *bytes, size_t size, size_t bit)
{
	int status;

	bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	status = read_bytes(m, bytes, size).status;
	bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	return status != 0;
}

/*
 * A few bits of a zstd frame have no meaning; without an error model_read() requires that the trace is right
 * and complete. In a unit's header every bit counts.
 */
static void test_bit_flips(void **state)
{
	struct model m;
	size_t size, noticed = 0;
	uint8_t *bytes;

	(void)state;
	small_trace(&m, 2);
	bytes = model_bytes(&m, &size);
	for (size_t at = 0; at < size;) {
		uint8_t type;
		const size_t header = UNIT_PREFIX + wire_u32(bytes + at + 4),
			     unit = unit_size(bytes + at, &type);

		for (size_t bit = 0; bit < header * 8; bit++)
			assert_true(flip_noticed(&m, bytes, size, at * 8 + bit));
		for (size_t bit = header * 8; bit < unit * 8; bit++)
			noticed += flip_noticed(&m, bytes, size, at * 8 + bit);
		at += unit;
	}
	assert_true(noticed > 0);
	free(bytes);
	model_destroy(&m);
}

static void test_holes_and_repeats(void **state)
{
	struct model m;
	size_t size;
	uint8_t *bytes, *damaged;

	(void)state;
	small_trace(&m, 5);
	bytes = model_bytes(&m, &size);
	damaged = malloc(2 * size);
	for (int i = 0; i < 500; i++) {
		const size_t from = model_below(&m, (uint32_t)size),
			     n = model_below(&m, (uint32_t)(size - from)) + 1;

		memcpy(damaged, bytes, from);
		memcpy(damaged + from, bytes + from + n, size - from - n);
		assert_int_not_equal(read_bytes(&m, damaged, size - n).status, 0);
		memcpy(damaged, bytes, from + n);
		memcpy(damaged + from + n, bytes + from, size - from);
		assert_int_not_equal(read_bytes(&m, damaged, size + n).status, 0);
	}
	/* Traces without some whole units. */
	for (size_t at = 0; at < size;) {
		uint8_t type;
		const size_t unit = unit_size(bytes + at, &type);
		int status;

		memcpy(damaged, bytes, at);
		memcpy(damaged + at, bytes + at + unit, size - at - unit);
		status = read_bytes(&m, damaged, size - unit).status;
		assert_int_equal(status, type == UNIT_FILE  ? MST_ERR_NOT_A_TRACE
					 : type == UNIT_END ? MST_ERR_TRUNCATED
							    : MST_ERR_DAMAGED);
		at += unit;
	}
	free(damaged);
	free(bytes);
	model_destroy(&m);
}

static void test_garbage(void **state)
{
	struct model m;
	size_t size;
	uint8_t *bytes, noise[4096];

	(void)state;
	small_trace(&m, 4);
	bytes = model_bytes(&m, &size);
	for (int i = 0; i < 1500; i++) {
		uint8_t type;
		size_t n = model_below(&m, sizeof(noise)), keep = 0;

		for (size_t j = 0; j < n; j++)
			noise[j] = (uint8_t)model_random(&m);
		/* Now and then behind a good beginning, so that the reader gets beyond the header. */
		for (uint32_t units = model_below(&m, 5); units; units--)
			keep += unit_size(bytes + keep, &type);
		if (n < keep)
			n = keep;
		if (n > sizeof(noise))
			continue;
		memcpy(noise, bytes, keep);
		assert_true(read_bytes(&m, noise, n).status < 0);
	}
	free(bytes);
	model_destroy(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_holes_and_repeats),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests_name("damaged files", tests, NULL, NULL);
}
