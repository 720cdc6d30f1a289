/* SPDX-License-Identifier: MIT */
/* mstop's cells and view: what fits into columns, what keys do. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cells.h"
#include "top_screen.h"
#include "top_view.h"

/* ---- Cells ---- */

static void check_cells(const char *text, unsigned most, bool utf8, const char *wanted, unsigned columns)
{
	struct cells c = { .most = most, .utf8 = utf8 };
	cells_add(&c, text);
	assert_false(c.failed);
	assert_string_equal(c.text ? c.text : "", wanted);
	assert_int_equal(c.columns, columns);
	free(c.text);
}

static void test_widths(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	check_cells("abc", 0, true, "abc", 3);
	check_cells("abc", 2, true, "ab", 2);
	check_cells("", 5, true, "", 0);
	check_cells("\xe7\x95\x8c", 0, true, "\xe7\x95\x8c", 1); /* no limit, no widths */
	check_cells("a\xc3\xa4z", 2, true, "a\xc3\xa4", 2);
	check_cells("\xe7\x95\x8c\xe7\x95\x8c", 4, true, "\xe7\x95\x8c\xe7\x95\x8c", 4);
	check_cells("\xe7\x95\x8c\xe7\x95\x8c", 3, true, "\xe7\x95\x8c", 2); /* no half of a wide one */
	check_cells("e\xcc\x81z", 2, true, "e\xcc\x81z", 2);                 /* a combining one takes none */
	check_cells("\x1b[2J", 0, true, "?[2J", 4);
	check_cells("a\x80\xff", 0, true, "a??", 3);
	check_cells("\xe2\x80\xae", 0, true, "?", 1); /* turns text around */
	check_cells("a\xc3\xa4\xe7\x95\x8c", 0, false, "a??", 3);
	check_cells("\x7f\t\n", 0, false, "???", 3);
}

static void test_lines(void **state)
{
	(void)state;
	struct cells c = { .most = 12 };
	cells_right(&c, "12", 4);
	cells_printf(&c, "%d", 7);
	cells_pad(&c, 8);
	cells_add_most(&c, "abcdef", 2);
	assert_string_equal(c.text, "  12 7  ab");
	cells_add(&c, "longer");
	cells_right(&c, "x", 9);
	cells_pad(&c, 40);
	assert_string_equal(c.text, "  12 7  ablo");
	assert_int_equal(c.columns, 12);
	free(c.text);
}

/* ---- The view ---- */

static struct top_site sites[30];
static struct top_thread threads[3];

static struct top_sample make_sample(void)
{
	for (uint32_t i = 0; i < 30; i++)
		sites[i] =
			(struct top_site){ .call = 100 + i, .row = { .live_bytes = 1000 - i, .calls = i } };
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = (struct top_thread){ .tid = 10 + i, .row = { .live_bytes = 50 - i } };
	return (struct top_sample){ .sites = sites, .n_sites = 30, .threads = threads, .n_threads = 3 };
}

static void press(struct top_view *v, const struct top_sample *s, int key, enum top_action wanted)
{
	assert_int_equal(top_view_key(v, s, key, 10), wanted);
}

static void test_moves(void **state)
{
	struct top_sample s = make_sample();
	struct top_view v = { 0 };
	(void)state;
	press(&v, &s, TOP_KEY_UP, TOP_DRAW);
	assert_int_equal(v.selected, 0);
	for (int i = 0; i < 12; i++)
		press(&v, &s, i % 2 ? 'j' : TOP_KEY_DOWN, TOP_DRAW);
	assert_int_equal(v.selected, 12);
	assert_int_equal(v.first, 3); /* the last of ten rows */
	press(&v, &s, TOP_KEY_PAGE_DOWN, TOP_DRAW);
	assert_int_equal(v.selected, 21);
	press(&v, &s, TOP_KEY_END, TOP_DRAW);
	press(&v, &s, TOP_KEY_DOWN, TOP_DRAW);
	assert_int_equal(v.selected, 29);
	assert_int_equal(v.first, 20);
	press(&v, &s, TOP_KEY_HOME, TOP_DRAW);
	assert_int_equal(v.selected, 0);
	assert_int_equal(v.first, 0);
	press(&v, &s, TOP_KEY_LEFT, TOP_NOTHING);
	press(&v, &s, 'x', TOP_NOTHING);
	press(&v, &s, 0, TOP_NOTHING);
}

/* A selected row is followed to its new place; the first one is a place. */
static void test_follows(void **state)
{
	struct top_sample s = make_sample();
	struct top_view v = { 0 };
	(void)state;
	for (int i = 0; i < 5; i++)
		press(&v, &s, TOP_KEY_DOWN, TOP_DRAW);
	press(&v, &s, 'c', TOP_REFRESH);
	assert_int_equal(v.order, TOP_BY_CALLS);
	top_sample_sort(&s, v.order);
	assert_int_equal(sites[0].call, 129);
	top_view_settle(&v, &s, 10);
	assert_int_equal(v.call, 105);
	assert_int_equal(sites[v.selected].call, 105);
	assert_in_range(v.selected, v.first, v.first + 9);
	press(&v, &s, TOP_KEY_HOME, TOP_DRAW);
	top_sample_sort(&s, TOP_BY_LIVE);
	top_view_settle(&v, &s, 10);
	assert_int_equal(v.selected, 0);
	s.n_sites = 2; /* fewer than before */
	v.selected = 20;
	v.moved = false;
	top_view_settle(&v, &s, 10);
	assert_int_equal(v.selected, 1);
	s.n_sites = 0;
	top_view_settle(&v, &s, 10);
	assert_int_equal(v.selected, 0);
	press(&v, &s, TOP_KEY_DOWN, TOP_NOTHING);
	press(&v, &s, TOP_KEY_ENTER, TOP_NOTHING);
}

static void test_pages(void **state)
{
	const struct top_sample s = make_sample();
	struct top_view v = { 0 };
	(void)state;
	press(&v, &s, TOP_KEY_DOWN, TOP_DRAW);
	press(&v, &s, '\r', TOP_REFRESH);
	assert_int_equal(v.page, TOP_STACK);
	assert_int_equal(v.call, 101);
	v.n_stacks = 3;
	press(&v, &s, TOP_KEY_LEFT, TOP_DRAW);
	assert_int_equal(v.stack, 2);
	press(&v, &s, TOP_KEY_RIGHT, TOP_DRAW);
	assert_int_equal(v.stack, 0);
	press(&v, &s, TOP_KEY_DOWN, TOP_DRAW);
	assert_int_equal(v.first_frame, 1);
	press(&v, &s, TOP_KEY_HOME, TOP_DRAW);
	assert_int_equal(v.first_frame, 0);
	press(&v, &s, '?', TOP_REFRESH);
	press(&v, &s, 'h', TOP_REFRESH);
	assert_int_equal(v.page, TOP_STACK);
	press(&v, &s, TOP_KEY_ESCAPE, TOP_REFRESH);
	assert_int_equal(v.page, TOP_SITES);
	assert_int_equal(v.selected, 1);
	press(&v, &s, TOP_KEY_ESCAPE, TOP_NOTHING);
	press(&v, &s, '\t', TOP_REFRESH);
	assert_int_equal(v.page, TOP_THREADS);
	assert_int_equal(v.selected, 0);
	press(&v, &s, TOP_KEY_END, TOP_DRAW);
	assert_int_equal(v.tid, 12);
	press(&v, &s, TOP_KEY_ENTER, TOP_NOTHING);
	press(&v, &s, 's', TOP_REFRESH);
	press(&v, &s, ' ', TOP_REFRESH);
	assert_true(v.paused);
	press(&v, &s, 'p', TOP_REFRESH);
	assert_false(v.paused);
	press(&v, &s, 'w', TOP_REPORT);
	press(&v, &s, 'q', TOP_QUIT);
}

static void test_words(void **state)
{
	enum top_order order;
	(void)state;
	for (unsigned i = 0; i < TOP_ORDERS; i++) {
		assert_true(top_order_parse(top_order_names[i], &order));
		assert_int_equal(order, i);
	}
	assert_false(top_order_parse("", &order));
	assert_false(top_order_parse("lives", &order));
	assert_int_equal(top_screen_rows(24), 17);
	assert_int_equal(top_screen_rows(3), 1);
	assert_int_equal(top_screen_rows(0), 0);
}

static void test_states(void **state)
{
	char text[40];
	(void)state;
	struct top_sample s = { .state = TOP_RUNNING };
	assert_string_equal(top_state_text(&s, text), "running");
	s.state = TOP_ENDED;
	s.end = (struct mst_end){ .reason = MST_END_SIGNAL, .detail = 9 };
	assert_string_equal(top_state_text(&s, text), "killed by signal 9");
	s.end = (struct mst_end){ .reason = MST_END_EXIT, .detail = UINT32_MAX };
	assert_string_equal(top_state_text(&s, text), "exit 4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),  cmocka_unit_test(test_lines), cmocka_unit_test(test_moves),
		cmocka_unit_test(test_follows), cmocka_unit_test(test_pages), cmocka_unit_test(test_words),
		cmocka_unit_test(test_states),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
