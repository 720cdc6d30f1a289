/* SPDX-License-Identifier: MIT */
/*
 * Marks between the events of random traces: each comes back with its name and thread, between the same two events; in the
 * trace of a forked child, too, and in what a cut trace has left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "mst_limits.h"
#include "mst_writer.h"
#include "trace_model.h"

#define STEPS 4000u
#define MOST 600u

/* A mark, and how many events came before it. */
struct expected {
	char name[300];
	uint32_t thread;
	uint64_t events, time;
};

struct list {
	struct expected items[MOST];
	size_t n;
};

static void set_mark(struct model *m, struct list *list)
{
	struct expected *e = &list->items[list->n++];
	const uint32_t length = model_below(m, 4) ? model_below(m, 12) : model_below(m, 300);

	assert_in_range(list->n, 1, MOST);
	*e = (struct expected){ .events = m->events.n, .time = m->time_ns >> 10 };
	const uint64_t time = model_below(m, 2) ? m->time_ns : 0;

	for (uint32_t i = 0; i < length; i++)
		e->name[i] = (char)(1 + model_below(m, 255));
	e->thread = m->threads.n && model_below(m, 5) ? m->thread : MST_NONE;
	assert_int_equal(mst_writer_mark(m->writer, time, e->thread, e->name), 0);
	e->name[MST_MAX_MARK] = '\0';
}

static void do_steps(struct model *m, struct list *list)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		model_step(m);
		while (list->n < MOST && !model_below(m, 20))
			set_mark(m, list);
	}
}

/* The marks whose place the events so far have passed. `next`: the number of the record behind these. */
static void check_passed(const struct mst_reader *reader, const struct list *list, uint64_t next,
			 uint64_t events, size_t *seen)
{
	uint32_t n;
	const struct mst_mark *marks = mst_reader_marks(reader, &n);

	for (; *seen < n && marks[*seen].record <= next; (*seen)++) {
		const struct expected *e = &list->items[*seen];

		assert_in_range(*seen, 0, list->n - 1);
		assert_int_equal(marks[*seen].record, next);
		assert_int_equal(e->events, events);
		assert_int_equal(marks[*seen].time, e->time);
		assert_int_equal(marks[*seen].thread, e->thread);
		assert_string_equal(marks[*seen].name, e->name);
	}
}

/* Returns how many of the marks are in the trace; `whole`: it isn't cut. */
static size_t check(int fd, const struct list *list, bool whole)
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	uint64_t events = 0, next = 0;
	size_t seen = 0;
	int got;

	assert_int_equal(mst_reader_create(&reader, fd), 0);
	while ((got = mst_reader_next(reader, &chunk)) == 1) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event event;

		do {
			next = chunk->first_record + cursor.record;
			check_passed(reader, list, next, events, &seen);
		} while (mst_cursor_next(&cursor, &event) && ++events);
	}
	assert_int_equal(got == 0, whole);
	if (whole)
		check_passed(reader, list, next, events, &seen);
	if (whole)
		assert_int_equal(seen, list->n);
	mst_reader_destroy(reader);
	return seen;
}

static void check_model(const struct model *m, const struct list *list)
{
	assert_int_equal(lseek(m->fd, 0, SEEK_SET), 0);
	check(m->fd, list, true);
	assert_int_equal(lseek(m->fd, 0, SEEK_SET), 0);
	assert_int_equal(model_read(m, m->fd).status, 0);
}

static void test_random(void **state)
{
	static struct list list, other;

	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		const struct mst_writer_options options = { .identity = seed & 1, .chunk_records = 500 };
		struct model parent, child;

		list.n = 0;
		model_create(&parent, seed, &options);
		do_steps(&parent, &list);
		other = list;
		model_fork_state(&parent, &child);
		model_fork_file(&child);
		do_steps(&parent, &list);
		do_steps(&child, &other);
		model_finish(&parent);
		model_finish(&child);
		check_model(&parent, &list);
		check_model(&child, &other);
		model_destroy(&parent);
		model_destroy(&child);
	}
}

/* Marks before the first event, and of a trace without any. */
static void test_no_event(void **state)
{
	static struct list list;
	const struct mst_writer_options options = { 0 };
	struct model m;

	(void)state;
	list.n = 0;
	model_create(&m, 3, &options);
	set_mark(&m, &list);
	set_mark(&m, &list);
	model_finish(&m);
	check_model(&m, &list);
	model_destroy(&m);
}

/* Wherever a file ends, it has the marks before the events that it has. */
static void test_cut(void **state)
{
	static struct list list;
	const struct mst_writer_options options = { .chunk_records = 300 };
	struct model m;
	uint8_t *bytes;
	size_t size, most = 0;

	(void)state;
	list.n = 0;
	model_create(&m, 5, &options);
	do_steps(&m, &list);
	model_finish(&m);
	bytes = model_bytes(&m, &size);
	for (size_t n = 2000; n < size; n += 997) {
		const int fd = model_memfd(bytes, n);
		const size_t seen = check(fd, &list, false);

		assert_in_range(seen, most, list.n);
		most = seen;
		close(fd);
	}
	assert_in_range(most, list.n / 2, list.n);
	free(bytes);
	model_destroy(&m);
}

static void test_refused(void **state)
{
	const struct mst_writer_options options = { 0 };
	struct model m;

	(void)state;
	model_create(&m, 1, &options);
	assert_int_equal(mst_writer_mark(m.writer, 0, 1000000, "thread"), MST_ERR_ARGUMENT);
	for (uint32_t i = 0; i < MST_MAX_MARKS; i++)
		assert_int_equal(mst_writer_mark(m.writer, 0, MST_NONE, "x"), 0);
	assert_int_equal(mst_writer_mark(m.writer, 0, MST_NONE, "x"), MST_ERR_LIMIT);
	model_finish(&m);
	assert_int_equal(lseek(m.fd, 0, SEEK_SET), 0);
	assert_int_equal(model_read(&m, m.fd).status, 0);
	model_destroy(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_no_event),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
