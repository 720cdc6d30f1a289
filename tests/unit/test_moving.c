/* SPDX-License-Identifier: MIT */
/*
 * Before the event of a realloc arrives, another thread may have the block's address; or no event ever arrives. The
 * tests write rings by hand and read the trace back. Events are shown as a letter and sizes: A10 gives a block of 10
 * bytes, F10 frees it (F0: an unknown one), I10 is an implied free, R10>20 resizes it to 20, K10 is a realloc of it
 * that failed, M is a marker. Also: where the trace counts calls of free(NULL), which have no events.
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

#include "byhand.h"
#include "clock.h"
#include "mst_writer.h"
#include "shm.h"
#include "tracee.h"

#define THREADS 2u
#define PROCESSES 2u
#define P 0x1000u
#define Q 0x2000u
#define FORKS 20u
#define LONG_NS UINT64_C(10000000000)
#define NODE 1u      /* the one-frame stack of all calls */
#define INITIAL " |" /* in texts: the end of an initial state */

static struct clock clock_now;
static bool no_memory; /* for calloc() */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

/* ---- rings ---- */

static void begin_process(uint32_t process)
{
	byhand_process(process, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		byhand_node(process, i, NODE, 0, 0x1234);
}

/* An operation on an address, or a marker. */
static void write_value(uint32_t process, uint32_t thread, uint8_t op, uint64_t value)
{
	byhand_write(process, thread, (uint64_t[]){ shm_head(op, SHM_STAMPED, value), byhand_stamp() }, 2);
}

static void write_malloc(uint32_t thread, uint64_t address, uint64_t size)
{
	byhand_write(0, thread,
		     (uint64_t[]){ shm_head(MST_OP_MALLOC, SHM_STAMPED, shm_call_value(NODE, size)),
				   byhand_stamp(), address },
		     3);
}

/* Address 0: the call failed. */
static void write_realloc(uint32_t thread, uint64_t old, uint64_t address, uint64_t size)
{
	const uint8_t op = address == old ? MST_OP_REALLOC_IN_PLACE : MST_OP_REALLOC_MOVED;
	const uint8_t flags = SHM_STAMPED | (address ? 0 : SHM_FAILED);

	byhand_write(
		0, thread,
		(uint64_t[]){ shm_head(op, flags, shm_call_value(NODE, size)), byhand_stamp(), address, old },
		4);
}

/* ---- traces ---- */

static void drain(struct tracee *tracee)
{
	clock_sample(&clock_now);
	assert_true(tracee_drain(tracee, &clock_now, UINT64_MAX) >= 0);
}

static void append_event(char *text, const struct mst_kind *kinds, const uint64_t *sizes,
			 const struct mst_event *e)
{
	char *end = text + strlen(text);
	const uint64_t size = e->kind == MST_NONE ? 0 : kinds[e->kind].size;
	const bool known = e->old_kind != MST_UNKNOWN_KIND;
	const bool implied = e->kind != MST_NONE && kinds[e->kind].op == MST_OP_IMPLIED_FREE;

	if (e->type == MST_EVENT_ALLOC)
		sprintf(end, " A%lu", size);
	else if (e->type == MST_EVENT_FREE)
		sprintf(end, " %c%lu", implied ? 'I' : 'F', known ? sizes[e->old_index] : 0);
	else if (e->type == MST_EVENT_RESIZE)
		sprintf(end, " R%lu>%lu", sizes[e->old_index], size);
	else if (e->old_kind != MST_NONE)
		sprintf(end, " K%lu", sizes[e->old_index]);
	else
		sprintf(end, " M");
}

/* Ends the trace and checks it. */
static void check(struct mst_writer *writer, int fd, const char *expected)
{
	char text[200] = "";
	uint64_t sizes[20] = { 0 };
	const struct mst_chunk *chunk;
	struct mst_reader *reader;

	assert_int_equal(mst_writer_finish(writer, &(struct mst_end){ .reason = MST_END_EXIT }), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(mst_reader_create(&reader, fd), 0);
	while (mst_reader_next(reader, &chunk) > 0) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		const struct mst_kind *kinds = mst_reader_kinds(reader, &(uint32_t){ 0 });
		struct mst_event e;

		while (mst_cursor_next(&cursor, &e)) {
			append_event(text, kinds, sizes, &e);
			if (e.type == MST_EVENT_ALLOC || e.type == MST_EVENT_RESIZE)
				sizes[e.index] = kinds[e.kind].size;
		}
		if (chunk->initial)
			strcat(text, INITIAL);
	}
	assert_string_equal(text, expected);
	mst_reader_destroy(reader);
	close(fd);
}

/* The texts of the one process; checks its counts of unknown and implied frees, too. */
static void check_all(const char *expected, uint64_t unknown, uint64_t implied)
{
	const int fd = byhand_file();
	struct tracee *tracee = tracee_create(byhand_segment(0), byhand_writer(fd, false), 32, false);
	struct mst_end end = { 0 };

	assert_non_null(tracee);
	drain(tracee);
	tracee_end(tracee, &end);
	assert_int_equal(end.unknown_frees, unknown);
	assert_int_equal(end.implied_frees, implied);
	assert_int_equal(end.lost, 0);
	check(tracee_writer(tracee), fd, expected);
	tracee_destroy(tracee);
}

/* ---- cases ---- */

static void begin_case(void)
{
	byhand_begin(PROCESSES);
	clock_start(&clock_now, false);
	begin_process(0);
	write_malloc(0, P, 10);
	write_value(0, 0, SHM_OP_MOVING, P);
}

static void end_case(void)
{
	byhand_end();
}

static void test_address_is_anothers(void **state)
{
	(void)state;
	begin_case();
	write_malloc(1, P, 20);
	write_realloc(0, P, Q, 30);
	write_value(0, 1, SHM_OP_FREE, P);
	write_value(0, 1, SHM_OP_FREE, Q);
	check_all(" A10 A20 R10>30 F20 F30", 0, 0);
	end_case();
}

static void test_address_goes_round(void **state)
{
	(void)state;
	begin_case();
	write_malloc(1, P, 20);
	write_value(0, 1, SHM_OP_MOVING, P);
	write_realloc(0, P, Q, 30);
	write_realloc(1, P, P, 40);
	write_value(0, 0, SHM_OP_FREE, P);
	check_all(" A10 A20 R10>30 R20>40 F40", 0, 0);
	end_case();
}

static void test_it_fails(void **state)
{
	(void)state;
	begin_case();
	write_realloc(0, P, 0, 99);
	write_value(0, 1, SHM_OP_FREE, P);
	check_all(" A10 K10 F10", 0, 0);
	end_case();
}

static void test_it_never_returns(void **state)
{
	(void)state;
	begin_case();
	write_value(0, 1, SHM_OP_FREE, P);
	check_all(" A10 F10", 0, 0);
	end_case();
}

static void test_it_is_tried_again(void **state)
{
	(void)state;
	begin_case();
	write_value(0, 0, SHM_OP_MOVING, P);
	write_realloc(0, P, Q, 20);
	write_value(0, 0, SHM_OP_MOVING, Q);
	write_value(0, 1, SHM_OP_MOVING, Q);
	write_realloc(1, Q, P, 30);
	check_all(" A10 R10>20 R20>30", 0, 0);
	end_case();
}

/* The block was freed by a call that was not recorded. */
static void test_it_never_returns_and_the_address_does(void **state)
{
	(void)state;
	begin_case();
	write_malloc(1, P, 20);
	write_malloc(0, Q, 30);
	write_value(0, 0, SHM_OP_MOVING, Q);
	write_value(0, 0, SHM_OP_FREE, P);
	check_all(" A10 A20 A30 I10 F20", 0, 1);
	end_case();
}

/* Without a MOVING event, as from a process that has one thread. */
static void test_nothing_moves(void **state)
{
	(void)state;
	begin_case();
	write_malloc(0, Q, 20);
	write_realloc(0, Q, Q + 16, 30);
	write_realloc(0, P, P, 40);
	write_value(0, 0, SHM_OP_FREE, 0);
	check_all(" A10 A20 R20>30 R10>40 F0", 1, 0);
	end_case();
}

/* In the child the block stays; other blocks get its address. */
static void test_a_fork_meanwhile(void **state)
{
	const struct mst_file_info child_info = {
		.pid = 101, .parent_pid = 100, .recorder = "", .exe = "", .cwd = "/"
	};
	const int fds[] = { byhand_file(), byhand_file() };
	struct shm_segment *segment;
	struct tracee *parent, *child;
	struct mst_end end = { 0 };

	(void)state;
	begin_case();
	write_value(0, 1, MST_OP_FORK, 1);
	write_realloc(0, P, Q, 20);
	parent = tracee_create(byhand_segment(0), byhand_writer(fds[0], false), 32, false);
	drain(parent);
	begin_process(1);
	segment = byhand_segment(1);
	segment->parent_fork = 1;
	byhand_write(1, 0,
		     (uint64_t[]){ shm_head(MST_OP_MALLOC, SHM_STAMPED, shm_call_value(NODE, 30)),
				   byhand_stamp(), P },
		     3);
	write_value(1, 0, SHM_OP_FREE, P);
	child = tracee_create_child(segment, parent);
	assert_true(child && tracee_needs_file(child, false));
	assert_int_equal(mst_writer_fork_file(tracee_writer(child), fds[1], &child_info), 0);
	drain(child);
	tracee_end(child, &end);
	assert_int_equal(end.unknown_frees, 0);
	assert_int_equal(end.implied_frees, 0);
	check(tracee_writer(parent), fds[0], " A10 M R10>20");
	check(tracee_writer(child), fds[1], " A10 M A30 F30");
	tracee_destroy(parent);
	tracee_destroy(child);
	end_case();
}

/* More forks than kept states. msrec keeps them through a pause: the children may have appeared meanwhile. */
static void test_many_forks(void **state)
{
	const int fd = byhand_file();
	struct tracee *parent;
	uint32_t kept = 0;

	(void)state;
	begin_case();
	for (uint32_t i = 1; i <= FORKS; i++)
		write_value(0, 1, MST_OP_FORK, i);
	parent = tracee_create(byhand_segment(0), byhand_writer(fd, false), 32, false);
	assert_false(tracee_holds_fork(parent));
	drain(parent);
	assert_true(tracee_holds_fork(parent));
	clock_now.ns[1] += LONG_NS;
	assert_int_equal(tracee_drain(parent, &clock_now, UINT64_MAX), 0);
	while (tracee_knows_fork(parent, kept + 1))
		kept++;
	assert_in_range(kept, 1, FORKS - 1);
	/* msrec has met all children that appeared; the others never will. */
	tracee_hold_no_longer(parent, &clock_now);
	assert_false(tracee_knows_fork(parent, kept));
	assert_true(tracee_drain(parent, &clock_now, UINT64_MAX) > 0);
	assert_true(tracee_knows_fork(parent, kept + 1));
	assert_false(tracee_holds_fork(parent));
	tracee_destroy(parent);
	close(fd);
	end_case();
}

/* Without memory for the state at the fork, msrec drops the child: the parent's present state differs. */
static void test_a_fork_without_memory(void **state)
{
	const int fd = byhand_file();
	struct tracee *parent;

	(void)state;
	begin_case();
	parent = tracee_create(byhand_segment(0), byhand_writer(fd, false), 32, false);
	drain(parent);
	write_value(0, 1, MST_OP_FORK, 1);
	no_memory = true;
	drain(parent);
	no_memory = false;
	write_realloc(0, P, Q, 20);
	drain(parent);
	begin_process(1);
	byhand_segment(1)->parent_fork = 1;
	assert_true(tracee_awaits_children(parent));
	assert_null(tracee_create_child(byhand_segment(1), parent));
	assert_false(tracee_awaits_children(parent));
	check(tracee_writer(parent), fd, " A10 M R10>20");
	tracee_destroy(parent);
	end_case();
}

static void test_another_file_meanwhile(void **state)
{
	const int fds[] = { byhand_file(), byhand_file() };
	struct mst_writer *old;
	struct tracee *tracee;

	(void)state;
	begin_case();
	tracee = tracee_create(byhand_segment(0), byhand_writer(fds[0], false), 32, false);
	drain(tracee);
	old = tracee_writer(tracee);
	assert_int_equal(tracee_roll_over(tracee, byhand_writer(fds[1], true)), 0);
	check(old, fds[0], " A10");
	mst_writer_destroy(old);
	write_realloc(0, P, Q, 20);
	drain(tracee);
	check(tracee_writer(tracee), fds[1], " A10" INITIAL " R10>20");
	tracee_destroy(tracee);
	end_case();
}

static void go_on(struct tracee *tracee, int fd)
{
	struct mst_writer *old = tracee_writer(tracee);

	assert_int_equal(tracee_roll_over(tracee, byhand_writer(fd, true)), 0);
	mst_writer_destroy(old);
}

/* The count of the file's exit marker; UINT64_MAX: there is none. */
static uint64_t exit_mark(const struct mst_writer *writer)
{
	for (uint32_t i = 0; i < mst_writer_kinds(writer); i++) {
		if (mst_writer_kind_at(writer, i)->op == MST_OP_EXIT)
			return mst_writer_kind_at(writer, i)->size;
	}
	return UINT64_MAX;
}

/* Blocks of two sizes come and go, often enough for every path that takes plain calls. */
static void come_and_go(uint64_t size)
{
	for (unsigned i = 0; i < 4; i++) {
		write_malloc(0, Q, size);
		write_value(0, 0, SHM_OP_FREE, Q);
	}
}

/* What is remembered of a stack's last call is of its file alone. */
static void test_kinds_of_another_file(void **state)
{
	const int fds[] = { byhand_file(), byhand_file() };
	struct tracee *tracee;

	(void)state;
	begin_case();
	come_and_go(20);
	come_and_go(30);
	tracee = tracee_create(byhand_segment(0), byhand_writer(fds[0], false), 32, false);
	drain(tracee);
	go_on(tracee, fds[1]);
	come_and_go(30);
	come_and_go(20);
	drain(tracee);
	check(tracee_writer(tracee), fds[1],
	      " A10" INITIAL " A30 F30 A30 F30 A30 F30 A30 F30 A20 F20 A20 F20 A20 F20 A20 F20");
	tracee_destroy(tracee);
	close(fds[0]);
	end_case();
}

/* The trace counts free(NULL)s behind the events before them. An exit marker has its file's count; initial states repeat it. */
static void test_frees_of_null(void **state)
{
	const int fds[] = { byhand_file(), byhand_file(), byhand_file() };
	struct shm_ring *ring;
	struct tracee *tracee;

	(void)state;
	begin_case();
	ring = &byhand_segment(0)->rings[0];
	write_malloc(0, Q, 20);
	ring->null_frees = 3;
	tracee = tracee_create(byhand_segment(0), byhand_writer(fds[0], false), 32, false);
	tracee_set_batch(tracee, 1);
	drain(tracee);
	assert_int_equal(mst_writer_events(tracee_writer(tracee)), 0);
	tracee_set_batch(tracee, 10);
	drain(tracee);
	assert_int_equal(mst_writer_events(tracee_writer(tracee)), 2 + 3);
	go_on(tracee, fds[1]);
	ring->null_frees = 5;
	write_value(0, 0, MST_OP_EXIT, 5);
	drain(tracee);
	assert_int_equal(exit_mark(tracee_writer(tracee)), 2);
	assert_int_equal(mst_writer_events(tracee_writer(tracee)), 1 + 2);
	go_on(tracee, fds[2]);
	assert_int_equal(exit_mark(tracee_writer(tracee)), 0);
	tracee_destroy(tracee);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	end_case();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address_is_anothers),
		cmocka_unit_test(test_address_goes_round),
		cmocka_unit_test(test_it_fails),
		cmocka_unit_test(test_it_never_returns),
		cmocka_unit_test(test_it_is_tried_again),
		cmocka_unit_test(test_it_never_returns_and_the_address_does),
		cmocka_unit_test(test_nothing_moves),
		cmocka_unit_test(test_a_fork_meanwhile),
		cmocka_unit_test(test_a_fork_without_memory),
		cmocka_unit_test(test_many_forks),
		cmocka_unit_test(test_another_file_meanwhile),
		cmocka_unit_test(test_kinds_of_another_file),
		cmocka_unit_test(test_frees_of_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
