/* SPDX-License-Identifier: MIT */
/*
 * Marks, and ends of threads, between the events of random traces: each mark comes back with its name and thread, each end
 * with its thread, between the same two events; in the trace of a forked child, too, and in what a cut trace has left.
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

/* A mark, or an end of a thread, and how many events came before it. */
struct expected {
	char name[300];
	uint32_t thread;
	uint64_t events, time;
};

struct list {
	struct expected items[MOST], ends[MOST];
	size_t n, n_ends;
};

/* How many of them a reader has passed. */
struct passed {
	size_t marks, ends;
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

/* Threads end in the order of their ids; that they go on makes no difference to the writer. */
static void end_thread(struct model *m, struct list *list)
{
	struct expected *e = &list->ends[list->n_ends];
	const uint64_t last = list->n_ends ? e[-1].time : 0, now = mst_writer_time(m->writer) >> 10;
	const uint64_t wanted = model_below(m, 2) ? (m->time_ns >> 10) + model_below(m, 5) : 0;
	const uint64_t least = last > now ? last : now;

	*e = (struct expected){ .events = m->events.n,
				.time = wanted > least ? wanted : least,
				.thread = (uint32_t)list->n_ends++ };
	assert_int_equal(mst_writer_thread_end(m->writer, wanted << 10, e->thread), 0);
}

static void do_steps(struct model *m, struct list *list)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		model_step(m);
		while (list->n_ends < MOST && list->n_ends < m->threads.n && !model_below(m, 20))
			end_thread(m, list);
		while (list->n < MOST && !model_below(m, 20))
			set_mark(m, list);
	}
}

/* Those whose place the events so far have passed. `next`: the number of the record behind these. */
static void check_passed(const struct mst_reader *reader, const struct list *list, uint64_t next,
			 uint64_t events, struct passed *seen)
{
	uint32_t n, n_ends;
	const struct mst_mark *marks = mst_reader_marks(reader, &n);
	const struct mst_thread_end *ends = mst_reader_thread_ends(reader, &n_ends);

	for (; seen->marks < n && marks[seen->marks].record <= next; seen->marks++) {
		const struct expected *e = &list->items[seen->marks];
		const struct mst_mark *mark = &marks[seen->marks];

		assert_in_range(seen->marks, 0, list->n - 1);
		assert_int_equal(mark->record, next);
		assert_int_equal(e->events, events);
		assert_int_equal(mark->time, e->time);
		assert_int_equal(mark->thread, e->thread);
		assert_string_equal(mark->name, e->name);
	}
	for (; seen->ends < n_ends && ends[seen->ends].record <= next; seen->ends++) {
		const struct expected *e = &list->ends[seen->ends];
		const struct mst_thread_end *end = &ends[seen->ends];

		assert_in_range(seen->ends + 1, 1, list->n_ends);
		assert_int_equal(end->record, next);
		assert_int_equal(e->events, events);
		assert_int_equal(end->time, e->time);
		assert_int_equal(end->thread, e->thread);
	}
}

/* Returns how many are in the trace; `whole`: it isn't cut. */
static struct passed check(int fd, const struct list *list, bool whole)
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	uint64_t events = 0, next = 0;
	struct passed seen = { 0 };
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
	if (whole) {
		check_passed(reader, list, next, events, &seen);
		assert_int_equal(seen.marks, list->n);
		assert_int_equal(seen.ends, list->n_ends);
	}
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

		list.n = list.n_ends = 0;
		model_create(&parent, seed, &options);
		do_steps(&parent, &list);
		other = list;
		model_fork_state(&parent, &child);
		model_fork_file(&child);
		do_steps(&parent, &list);
		do_steps(&child, &other);
		model_finish(&parent);
		model_finish(&child);
		assert_in_range(list.n_ends, 5, MOST);
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
	struct passed most = { 0 };
	uint8_t *bytes;
	size_t size;

	(void)state;
	list.n = list.n_ends = 0;
	model_create(&m, 5, &options);
	do_steps(&m, &list);
	model_finish(&m);
	bytes = model_bytes(&m, &size);
	for (size_t n = 2000; n < size; n += 997) {
		const int fd = model_memfd(bytes, n);
		const struct passed seen = check(fd, &list, false);

		assert_in_range(seen.marks, most.marks, list.n);
		assert_in_range(seen.ends, most.ends, list.n_ends);
		most = seen;
		close(fd);
	}
	assert_in_range(most.marks, list.n / 2, list.n);
	assert_in_range(most.ends, list.n_ends / 2, list.n_ends);
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
	assert_int_equal(mst_writer_thread_end(m.writer, 0, 1000000), MST_ERR_ARGUMENT);
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
