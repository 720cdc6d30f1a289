/* SPDX-License-Identifier: MIT */
/*
 * The counter of instructions, tested on machines without one: pages as the kernel might share them, an invented
 * register, and descriptors that the program has closed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter.h"

static struct perf_event_mmap_page page;
static uint32_t asked;   /* the last register read, from 1; 0: none yet */
static uint64_t value;   /* of the register */
static unsigned changes; /* changes of the page left, one each time the register is read */

static uint64_t read_fake(uint32_t index)
{
	asked = index + 1;
	if (changes > 0) {
		changes--;
		page.lock += 2;
		page.offset += 1000;
	}
	return value;
}

static void set_page(uint32_t index, int64_t offset, uint16_t width, uint64_t in_register)
{
	page = (struct perf_event_mmap_page){
		.lock = 6, .index = index, .offset = offset, .pmc_width = width
	};
	page.cap_user_rdpmc = 1;
	asked = 0;
	changes = 0;
	value = in_register;
}

static uint64_t read_page(void)
{
	uint64_t count = 77;

	assert_true(counter_read_page(&page, read_fake, &count));
	return count;
}

static void test_register_and_offset(void **state)
{
	(void)state;
	set_page(3, 5000, 48, 234);
	assert_int_equal(read_page(), 5234);
	assert_int_equal(asked, 3);
	/* Fixed counters have numbers of their own. */
	set_page(0x40000001, 1, 48, 1);
	assert_int_equal(read_page(), 2);
	assert_int_equal(asked, 0x40000001);
}

/* Registers count up from below zero, and have fewer bits than the value that is read. */
static void test_widths(void **state)
{
	(void)state;
	set_page(1, INT64_C(1) << 47, 48, (UINT64_C(1) << 48) - (UINT64_C(1) << 46));
	assert_int_equal(read_page(), (UINT64_C(1) << 47) - (UINT64_C(1) << 46));
	set_page(1, 10, 32, 0xffffffff);
	assert_int_equal(read_page(), 9);
	set_page(1, 10, 32, 0x100000003);
	assert_int_equal(read_page(), 13);
	set_page(1, 10, 64, UINT64_MAX);
	assert_int_equal(read_page(), 9);
	/* Impossible widths: the register is not used. */
	set_page(1, 10, 0, 5);
	assert_int_equal(read_page(), 10);
	set_page(1, 10, 65, 5);
	assert_int_equal(read_page(), 10);
}

static void test_not_running(void **state)
{
	(void)state;
	set_page(0, 4711, 48, 99);
	assert_int_equal(read_page(), 4711);
	assert_int_equal(asked, 0);
	set_page(2, 4711, 48, 99);
	page.cap_user_rdpmc = 0;
	assert_int_equal(read_page(), 4711);
	assert_int_equal(asked, 0);
}

/* The kernel moves the counter during a read: the result mixes no values from before and after. */
static void test_changes(void **state)
{
	uint64_t count = 77;

	(void)state;
	set_page(1, 5, 48, 3);
	changes = 2;
	assert_int_equal(read_page(), 2008);
	set_page(1, 5, 48, 3);
	changes = COUNTER_TRIES - 1;
	assert_int_equal(read_page(), 1000 * (COUNTER_TRIES - 1) + 8);
	set_page(1, 5, 48, 3);
	changes = UINT32_MAX;
	assert_false(counter_read_page(&page, read_fake, &count));
	assert_int_equal(count, 77);
}

static void test_never_back(void **state)
{
	struct counter counter = { .page = &page };

	(void)state;
	set_page(0, 100, 48, 0);
	assert_int_equal(counter_read(&counter), 100);
	page.offset = 90;
	assert_int_equal(counter_read(&counter), 100);
	page.offset = 101;
	assert_int_equal(counter_read(&counter), 101);
}

/* Another file has the descriptor's number now: the counter must not read it. */
static void test_foreign_descriptor(void **state)
{
	int ends[2];
	char text[8] = "";

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "notours", 8), 8);
	struct counter counter = { .fd = ends[0], .id = 5, .last = 40 };

	assert_int_equal(counter_read(&counter), 40);
	assert_int_equal(counter.fd, 0);
	counter.fd = ends[0];
	counter_close(&counter);
	assert_int_equal(read(ends[0], text, 8), 8);
	assert_string_equal(text, "notours");
	close(ends[0]);
	close(ends[1]);
	counter = (struct counter){ .fd = ends[0], .id = 5, .last = 40 };
	assert_int_equal(counter_read(&counter), 40);
	assert_int_equal(counter_read(&counter), 40);
}

/* With a counter it counts; without one there is an error, and nothing to close. */
static void test_open(void **state)
{
	struct counter counter;
	const int err = counter_open(&counter);
	uint64_t before;

	(void)state;
	errno = ERANGE;
	before = counter_read(&counter);
	for (volatile int i = 0; i < 100000; i++)
		;
	if (err == 0)
		assert_true(counter_read(&counter) - before > 100000);
	else
		assert_int_equal(counter_read(&counter), 0);
	assert_true(err <= 0);
	assert_int_equal(errno, ERANGE);
	counter_close(&counter);
	assert_int_equal(counter_read(&counter), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_register_and_offset),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_not_running),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_never_back),
		cmocka_unit_test(test_foreign_descriptor),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
