/* SPDX-License-Identifier: MIT */
/* Parts of msreport's page that need no trace: the log of flows, crossings, texts, columns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "columns.h"
#include "crossings.h"
#include "flow_log.h"
#include "texts.h"
#include "tree_order.h"
#include "utf8.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- Flows ---- */

static void the_log_gives_back_what_it_got(void **state)
{
	static const struct flow flows[] = {
		{ 0, 1, 0, 0, 0, 0, 0, 0 },
		{ 0, 2, UINT64_MAX, 1, 7, 9, UINT64_MAX, (uint64_t)-5 },
		{ 2, UINT32_MAX, 1ull << 63, 128, 0, 127, 1ull << 63, 64 },
		{ 3, 0, 100, 2, 100, 2, 100, 2 },
	};
	struct flow_log log = { 0 };
	struct flows_cursor cursor = { 0 };
	struct flow flow;
	size_t at = 0;
	(void)state;
	for (uint32_t slice = 0; slice < 5; slice++) {
		for (; at < COUNT(flows) && flows[at].slice == slice; at++)
			assert_true(flow_log_add(&log, &flows[at]));
		flow_log_end_slice(&log);
	}
	for (size_t i = 0; i < COUNT(flows); i++) {
		assert_true(flow_log_next(&log, &cursor, &flow));
		assert_memory_equal(&flow, &flows[i], sizeof(flow));
	}
	assert_false(flow_log_next(&log, &cursor, &flow));
	flow_log_finish(&log);
}

/* ---- Crossings ---- */

enum { SLICES = 200, BLOCKS = 10 };

/* Each slice allocates BLOCKS blocks of each stack, which go in later slices: 18,000 cells a stack. */
static void add_all(struct crossings *c, uint32_t stacks)
{
	for (uint32_t slice = 0; slice < SLICES; slice++) {
		crossings_begin_slice(c, (uint64_t)slice * stacks * BLOCKS);
		for (uint32_t birth = 0; birth < slice; birth++) {
			for (uint32_t stack = 0; stack < stacks; stack++) {
				const uint64_t block =
					((uint64_t)birth * stacks + stack) * BLOCKS + slice % BLOCKS;
				if ((slice - birth) % 11 < BLOCKS)
					assert_true(crossings_add(c, stack, block, stack + slice, 1));
			}
		}
	}
	crossings_sort(c);
}

/* Bytes that a stack's blocks take that are born in group `birth` and die in group `death`. */
static uint64_t expected(uint32_t stack, unsigned group_log2, uint32_t birth, uint32_t death)
{
	uint64_t bytes = 0;
	for (uint32_t d = death << group_log2; d < (death + 1) << group_log2 && d < SLICES; d++) {
		for (uint32_t b = birth << group_log2; b < (birth + 1) << group_log2 && b < d; b++)
			bytes += (d - b) % 11 < BLOCKS ? stack + d : 0;
	}
	return bytes;
}

static void check_crossings(uint32_t stacks, bool grouped)
{
	struct crossings c = { 0 };
	size_t i = 0;
	add_all(&c, stacks);
	const unsigned group_log2 = c.group_log2;
	assert_true(group_log2 > 0 || !grouped);
	assert_true(group_log2 == 0 || grouped || check_wanted()); /* whose limits are low */
	const uint32_t groups = (SLICES + (1u << group_log2) - 1) >> group_log2;
	for (uint32_t death = 1; death < groups; death++) {
		for (uint32_t stack = 0; stack < stacks; stack++) {
			for (uint32_t birth = 0; birth < death; birth++) {
				const uint64_t bytes = expected(stack, group_log2, birth, death);
				if (bytes == 0)
					continue;
				assert_true(i < c.n);
				assert_int_equal(c.items[i].stack, stack);
				assert_int_equal(c.items[i].birth, birth);
				assert_int_equal(c.items[i].death, death);
				assert_int_equal(c.items[i++].bytes, bytes);
			}
		}
	}
	assert_int_equal(i, c.n);
	crossings_finish(&c);
}

static void crossings_are_kept(void **state)
{
	(void)state;
	check_crossings(20, false);
}

static void too_many_crossings_are_grouped(void **state)
{
	(void)state;
	check_crossings(240, true);
	check_crossings(450, true);
}

/* ---- Texts ---- */

static void long_texts_are_cut_at_characters(void **state)
{
	struct pool pool = { 0 };
	char text[3 * TEXTS_LONGEST + 10];
	(void)state;
	memset(text, 'x', sizeof(text));
	text[TEXTS_LONGEST] = '\0';
	assert_ptr_equal(texts_cut(text, &pool), text);
	for (unsigned shift = 0; shift < 4; shift++) {
		memset(text, 'x', shift);
		size_t n = shift;
		for (; n < 2 * TEXTS_LONGEST; n += 4)
			memcpy(text + n, "\xf0\x9f\x98\x80", 4);
		text[n] = '\0';
		const char *cut = texts_cut(text, &pool);
		assert_true(strlen(cut) <= TEXTS_LONGEST && strlen(cut) > TEXTS_LONGEST - 20);
		assert_true(utf8_is_valid(cut));
		assert_non_null(strstr(cut, "\xe2\x80\xa6"));
	}
	/* No characters at all: bytes that only go on. */
	memset(text, 0x80, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(strlen(texts_cut(text, &pool)) <= TEXTS_LONGEST);
	pool_finish(&pool);
}

static void texts_are_written_once_and_repaired(void **state)
{
	static const uint8_t wanted[] = "\7\13\0\0\0\3\0\1\5a"
					"a\xef\xbf\xbd"
					"b";
	struct texts texts;
	struct columns columns = { 0 };
	(void)state;
	assert_true(texts_init(&texts));
	assert_int_equal(texts_add(&texts, ""), 0);
	assert_int_equal(texts_add(&texts, "a"), 1);
	assert_int_equal(texts_add(&texts, "a\xff"
					   "b"),
			 2);
	assert_int_equal(texts_add(&texts, "a"), 1);
	texts_write(&texts, &columns, 7);
	assert_false(columns.failed);
	assert_int_equal(columns.bytes[1] + 5u, columns.n);
	assert_memory_equal(columns.bytes + 5, wanted + 5, 4);
	assert_memory_equal(columns.bytes + 9,
			    "aa\xef\xbf\xbd"
			    "b",
			    6);
	assert_int_equal(columns.n, 15);
	texts_finish(&texts);
	columns_finish(&columns);
}

/* ---- Columns ---- */

static void numbers_have_the_described_bytes(void **state)
{
	static const uint8_t wanted[] = { 9, 15, 0, 0,    0,    0,    0x7f, 0x80, 1,   0,
					  1, 2,  3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct columns c = { 0 };
	(void)state;
	columns_begin(&c, 9);
	columns_number(&c, 0);
	columns_number(&c, 127);
	columns_number(&c, 128);
	columns_signed(&c, 0);
	columns_signed(&c, (uint64_t)-1);
	columns_signed(&c, 1);
	columns_signed(&c, (uint64_t)-2);
	columns_number(&c, UINT64_MAX >> 22);
	columns_number(&c, 5);
	columns_end(&c);
	assert_int_equal(c.bytes[1], c.n - 5);
	assert_memory_equal(c.bytes + 5, wanted + 5, sizeof(wanted) - 6);
	columns_finish(&c);
}

/* ---- The order of nodes ---- */

enum { SMALL_TREE = 9, CHAIN = 100000 };

/* The least sum of weight times place of all orders with parents before children: by sets of nodes. */
static double least_sum(const uint32_t *parents, const double *weights, uint32_t n)
{
	double least[1u << SMALL_TREE] = { 0 };
	for (uint32_t set = 1; set < 1u << n; set++) {
		const int place = __builtin_popcount(set) - 1;
		least[set] = INFINITY;
		for (uint32_t last = 0; last < n; last++) {
			const uint32_t others = set & ~(1u << last);
			const bool can = others != set && (last == 0 || others >> parents[last] & 1);
			if (can && least[others] + weights[last] * place < least[set])
				least[set] = least[others] + weights[last] * place;
		}
	}
	return least[(1u << n) - 1];
}

static void weight_comes_as_early_as_can_be(void **state)
{
	(void)state;
	srand(1);
	for (unsigned tree = 0; tree < 2000; tree++) {
		const uint32_t n = 1 + (uint32_t)rand() % SMALL_TREE;
		uint32_t parents[SMALL_TREE] = { 0 }, places[SMALL_TREE], seen = 0;
		double weights[SMALL_TREE], sum = 0;
		for (uint32_t i = 0; i < n; i++) {
			parents[i] = i ? (uint32_t)rand() % i : 0;
			weights[i] = rand() % 3 ? rand() % 10 : 0;
		}
		assert_true(tree_order(parents, weights, n, places));
		for (uint32_t i = 0; i < n; i++) {
			assert_true(i == 0 ? places[i] == 0 : places[i] > places[parents[i]]);
			seen |= 1u << places[i];
			sum += weights[i] * places[i];
		}
		assert_int_equal(seen, (1u << n) - 1);
		assert_true(sum == least_sum(parents, weights, n));
	}
}

/* What is heavy at the end of a long chain comes behind what is near and heavier by node. */
static void chains_have_their_price(void **state)
{
	const uint32_t n = CHAIN + 2;
	uint32_t *parents = calloc(n, sizeof(*parents)), *places = calloc(n, sizeof(*places));
	double *weights = calloc(n, sizeof(*weights));
	(void)state;
	assert_true(parents && places && weights);
	for (uint32_t i = 1; i <= CHAIN; i++)
		parents[i] = i - 1;
	weights[CHAIN] = 1000;
	weights[CHAIN + 1] = 1; /* a child of the root */
	assert_true(tree_order(parents, weights, n, places));
	assert_int_equal(places[CHAIN + 1], 1);
	assert_int_equal(places[CHAIN], CHAIN + 1);
	weights[CHAIN] = 2 * CHAIN;
	assert_true(tree_order(parents, weights, n, places));
	assert_int_equal(places[CHAIN], CHAIN);
	assert_int_equal(places[CHAIN + 1], CHAIN + 1);
	assert_true(tree_order(parents, weights, 0, places));
	free(parents);
	free(places);
	free(weights);
}

/* Trees like those of calls: most nodes weigh next to nothing. */
static void the_first_places_are_those_of_all(void **state)
{
	enum { N = 3000 };
	static uint32_t parents[N], all[N], some[N];
	static double weights[N];
	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		for (uint32_t i = 0; i < N; i++) {
			const uint32_t near = i < 20 || rand() % 4 == 0 ? i : 20;
			parents[i] = i ? i - 1 - (uint32_t)rand() % near : 0;
			weights[i] = round == 0   ? 1
				     : rand() % 5 ? rand() % 3 * 1e-6
						  : pow(rand() % 100, round % 4);
		}
		assert_true(tree_order(parents, weights, N, all));
		for (uint32_t first = 1; first <= N; first = first * 3 + 1) {
			assert_true(tree_order_first(parents, weights, N, first, some));
			for (uint32_t i = 0; i < N; i++) {
				assert_true(some[i] == all[i] || some[i] == UINT32_MAX);
				assert_true(some[i] == all[i] || all[i] >= first);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_gives_back_what_it_got),
		cmocka_unit_test(crossings_are_kept),
		cmocka_unit_test(too_many_crossings_are_grouped),
		cmocka_unit_test(long_texts_are_cut_at_characters),
		cmocka_unit_test(texts_are_written_once_and_repaired),
		cmocka_unit_test(numbers_have_the_described_bytes),
		cmocka_unit_test(weight_comes_as_early_as_can_be),
		cmocka_unit_test(chains_have_their_price),
		cmocka_unit_test(the_first_places_are_those_of_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
