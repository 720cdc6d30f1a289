/* SPDX-License-Identifier: MIT */
/* Ranges of --size and --lifetime, and patterns of functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "filter_options.h"
#include "function_pattern.h"

#define MS UINT64_C(1000000)
#define MOST UINT64_MAX

static void sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok;
		uint64_t least, most;
	} cases[] = {
		{ "24", true, 24, 24 },
		{ "0", true, 0, 0 },
		{ "1-4", true, 1, 4 },
		{ "64-4k", true, 64, 4096 },
		{ "1K-1M", true, 1024, 1 << 20 },
		{ "1KiB-2kB", true, 1024, 2000 },
		{ "8B-", true, 8, MOST },
		{ "-64", true, 0, 64 },
		{ "1.5k-", true, 1536, MOST },
		{ "2g-", true, UINT64_C(2) << 30, MOST },
		{ "1t", true, UINT64_C(1) << 40, UINT64_C(1) << 40 },
		{ "9223372036854775807", true, INT64_MAX, INT64_MAX },
		{ "18446744073709551616", false, 0, 0 },
		{ "99999999t", false, 0, 0 },
		{ "", false, 0, 0 },
		{ "-", false, 0, 0 },
		{ "--1", false, 0, 0 },
		{ "4-1", false, 0, 0 },
		{ "1-2-3", false, 0, 0 },
		{ "1.5", false, 0, 0 },
		{ ".k", false, 0, 0 },
		{ "1.2.3k", false, 0, 0 },
		{ "k", false, 0, 0 },
		{ "1kk", false, 0, 0 },
		{ "1e3", false, 0, 0 },
		{ "0x10", false, 0, 0 },
		{ " 1", false, 0, 0 },
		{ "1 ", false, 0, 0 },
		{ "inf", false, 0, 0 },
		{ "nan-", false, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct block_range range;
		if (filter_parse_size(cases[i].text, &range) != cases[i].ok)
			fail_msg("%s", cases[i].text);
		if (cases[i].ok) {
			assert_true(range.least == cases[i].least);
			assert_true(range.most == cases[i].most);
		}
	}
}

static void lifetimes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok, calls;
		uint64_t least, most;
	} cases[] = {
		{ "1s-", true, false, 1000 * MS, MOST },
		{ "-10ms", true, false, 0, 10 * MS },
		{ "10-20ms", true, false, 10 * MS, 20 * MS },
		{ "1-5s", true, false, 1000 * MS, 5000 * MS },
		{ "5ms-1s", true, false, 5 * MS, 1000 * MS },
		{ "7-", true, false, 7 * MS, MOST },
		{ "-7", true, false, 0, 7 * MS },
		{ "00:01-00:02.5", true, false, 1000 * MS, 2500 * MS },
		{ "1.5s-00:02", true, false, 1500 * MS, 2000 * MS },
		{ "-100calls", true, true, 0, 100 },
		{ "1-100calls", true, true, 1, 100 },
		{ "1call-100calls", true, true, 1, 100 },
		{ "5calls-", true, true, 5, MOST },
		{ "0calls", true, true, 0, 0 },
		{ "0calls-0calls", true, true, 0, 0 },
		{ "", false, false, 0, 0 },
		{ "-", false, false, 0, 0 },
		{ "5s", false, false, 0, 0 },
		{ "5", false, false, 0, 0 },
		{ "calls", false, false, 0, 0 },
		{ "-calls", false, false, 0, 0 },
		{ "1.5calls-", false, false, 0, 0 },
		{ "2s-1s", false, false, 0, 0 },
		{ "1s-5calls", false, false, 0, 0 },
		{ "5calls-1s", false, false, 0, 0 },
		{ "1-2-3", false, false, 0, 0 },
		{ "1x-", false, false, 0, 0 },
		{ "1-x", false, false, 0, 0 },
		{ "x-1s", false, false, 0, 0 },
		{ "99999999999999999999s-", false, false, 0, 0 },
		{ "99999999999999999999calls-", false, false, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct block_range range;
		if (filter_parse_lifetime(cases[i].text, &range) != cases[i].ok)
			fail_msg("%s", cases[i].text);
		if (cases[i].ok) {
			assert_int_equal(range.calls, cases[i].calls);
			assert_true(range.least == cases[i].least);
			assert_true(range.most == cases[i].most);
		}
	}
}

static void functions(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *function;
		bool matches;
	} cases[] = {
		{ "main", "main", true },
		{ "fill", "fill(int)", true },
		{ "fill(int)", "fill(int)", true },
		{ "fill(*", "fill(int)", true },
		{ "fil", "fill(int)", false },
		{ "fil?", "fill(int)", true },
		{ "Cache::insert", "Cache::insert(Key const&) const", true },
		{ "Cache::*", "Cache::insert(Key const&) const", true },
		{ "Cache::run", "Cache::run(void (*)(int), long)", true },
		{ "f::{lambda()#1}::operator()", "f::{lambda()#1}::operator()() const", true },
		{ "operator()", "operator()(int)", true },
		{ "[[]a.so+0x12]", "[a.so+0x12]", true },
		{ "", "", true },
		{ "", "f()", false },
		{ "", "()", false },
		{ "*", ")", true },
		{ "a)", "a)", true },
		{ "(", "(", true },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (function_pattern_matches(cases[i].pattern, cases[i].function) != cases[i].matches)
			fail_msg("%s: %s", cases[i].pattern, cases[i].function);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(lifetimes),
		cmocka_unit_test(functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
