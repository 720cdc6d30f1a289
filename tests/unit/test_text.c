/* SPDX-License-Identifier: MIT */
/* Text of any bytes in JSON and in tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "json.h"
#include "table.h"
#include "utf8.h"

#define REPLACED "\xef\xbf\xbd"

static void test_characters(void **state)
{
	static const struct {
		const char *text;
		unsigned length;
	} cases[] = {
		{ "a", 1 },
		{ "\x7f", 1 },
		{ "\xc3\xa4", 2 },
		{ "\xe2\x82\xac", 3 },
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\x80", 0 },             /* begins inside of one */
		{ "\xc3", 0 },             /* cut */
		{ "\xe2\x82", 0 },         /* cut */
		{ "\xc3(", 0 },            /* followed by another */
		{ "\xc0\xaf", 0 },         /* overlong */
		{ "\xe0\x80\xaf", 0 },     /* overlong */
		{ "\xf0\x80\x80\xaf", 0 }, /* overlong */
		{ "\xed\xa0\x80", 0 },     /* a surrogate */
		{ "\xf4\x90\x80\x80", 0 }, /* beyond the last */
		{ "\xf8\x88\x80\x80\x80", 0 },
		{ "\xff", 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(utf8_length(cases[i].text), cases[i].length);
		assert_int_equal(utf8_is_valid(cases[i].text), cases[i].length != 0);
	}
	assert_true(utf8_is_valid(""));
}

static void test_repair(void **state)
{
	char *text = utf8_repair("a\xff\xc3\xa4\xe2\x82");
	(void)state;
	assert_string_equal(text, "a" REPLACED "\xc3\xa4" REPLACED REPLACED);
	free(text);
}

/* Returns the written text; closes the descriptor. */
static const char *content(struct out *out, int fd)
{
	static char text[1024];
	assert_int_equal(out_finish(out), 0);
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static void test_json(void **state)
{
	const int fd = memfd_create("json", 0);
	struct out *out = out_create(fd);
	(void)state;
	json_string(out, "a\"\\\n\x01\x7f/<\xc3\xa4\xff");
	assert_string_equal(content(out, fd), "\"a\\\"\\\\\\u000a\\u0001\\u007f/<\xc3\xa4\\ufffd\"");
}

static void write_rows(struct table *table)
{
	table_text(table, "plain");
	table_number(table, UINT64_MAX);
	table_text(table, "");
	table_nothing(table);
	table_text(table, "a,\"b\"\n\xff");
	table_number(table, 0);
}

static const char *table_text_of(enum table_form form)
{
	static const struct parquet_column columns[] = { { "x", true }, { "n", false }, { NULL, false } };
	const int fd = memfd_create("table", 0);
	struct out *out = out_create(fd);
	struct table table;
	table_begin(&table, out, form, columns);
	write_rows(&table);
	table_end(&table);
	return content(out, fd);
}

static void test_tables(void **state)
{
	(void)state;
	assert_string_equal(table_text_of(TABLE_CSV), "x,n\nplain,18446744073709551615\n\"\",\n"
						      "\"a,\"\"b\"\"\n" REPLACED "\",0\n");
	assert_string_equal(table_text_of(TABLE_NDJSON),
			    "{\"x\":\"plain\",\"n\":18446744073709551615}\n{\"x\":\"\",\"n\":null}\n"
			    "{\"x\":\"a,\\\"b\\\"\\u000a" REPLACED "\",\"n\":0}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
