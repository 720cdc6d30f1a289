/* SPDX-License-Identifier: MIT */
/* Text of any bytes in JSON, in tables, on terminals and in command lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "json.h"
#include "printable.h"
#include "shell_word.h"
#include "table.h"
#include "thousands.h"
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

static void test_printable(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "" },
		{ "a\tb~", "a\tb~" },
		{ "a\x1b[31m\nb\x7f", "a\\x1b[31m\\x0ab\\x7f" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xe4\xff", "\xe4\xff" }, /* an older encoding */
		{ "\x9b"
		  "2J",
		  "\\x9b"
		  "2J" },
		{ "\xc2\x9b"
		  "2J",
		  "\\xc2\\x9b"
		  "2J" },
		{ "a\xe2\x80\xae"
		  "b",
		  "a\\xe2\\x80\\xae"
		  "b" },                                                 /* U+202E */
		{ "\xe2\x81\xa6\xd8\x9c", "\\xe2\\x81\\xa6\\xd8\\x9c" }, /* U+2066, U+061C */
		{ "\xe2\x80\xa8", "\\xe2\\x80\\xa8" },                   /* ends a line */
		{ "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81" },          /* a tag */
		{ "\xe0\x80\x9b", "\\xe0\\x80\\x9b" },                   /* an overlong ESC */
		{ "\xe2\x80", "\xe2\\x80" },                             /* cut */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const size_t n = strlen(cases[i].text);
		char *copy = printable_copy(cases[i].text, n), *lines = NULL;
		size_t length;
		FILE *out = open_memstream(&lines, &length);
		printable_lines(out, cases[i].text, n);
		fclose(out);
		assert_string_equal(copy, cases[i].shown);
		if (!strchr(cases[i].text, '\n'))
			assert_string_equal(lines, cases[i].shown);
		assert_int_equal(printable_run(copy, strlen(copy)), strlen(copy));
		free(copy);
		free(lines);
	}
}

/* Names of files as a shell takes them. */
static void test_shell_words(void **state)
{
	static const char *const cases[][2] = {
		{ "massif.out.4711", "massif.out.4711" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'''" },
		{ "$HOME/`x`", "'$HOME/`x`'" },
		{ "~/x", "'~/x'" },
		{ "-x", "./-x" },
		{ "-a b", "'./-a b'" },
		{ "\xc3\xa4=1", "\xc3\xa4=1" },
		{ "a\nb", "'a\nb'" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *word = shell_word(cases[i][0]);
		assert_string_equal(word, cases[i][1]);
		free(word);
	}
}

static void test_thousands(void **state)
{
	char text[THOUSANDS_SIZE];
	(void)state;
	assert_string_equal(thousands(text, 0), "0");
	assert_string_equal(thousands(text, 999), "999");
	assert_string_equal(thousands(text, 1000), "1,000");
	assert_string_equal(thousands(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters), cmocka_unit_test(test_repair),
		cmocka_unit_test(test_json),       cmocka_unit_test(test_tables),
		cmocka_unit_test(test_printable),  cmocka_unit_test(test_shell_words),
		cmocka_unit_test(test_thousands),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
