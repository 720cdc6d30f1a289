/* SPDX-License-Identifier: MIT */
/* Limits and baseline files of msreport --check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "baseline.h"
#include "limit.h"
#include "out.h"
#include "suppressions.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- Limits ---- */

static void assert_bound(const char *text, uint64_t base, uint64_t bound)
{
	struct limit limit;
	assert_null(limit_parse(&limit, text));
	assert_true(limit_bound(&limit, base) == bound);
	limit_finish(&limit);
}

static void bounds_have_units_and_signs(void **state)
{
	(void)state;
	assert_bound("peak<=24M", 0, 24u << 20);
	assert_bound("peak <= 24MiB", 0, 24u << 20);
	assert_bound("peak<=24MB", 0, 24000000);
	assert_bound("peak<=1.5k", 0, 1536);
	assert_bound("peak<=100B", 0, 100);
	assert_bound("calls==3", 7, 3);
	assert_bound("end<=+5%", 1000, 1050);
	assert_bound("end<=+0.5%", 1000, 1005);
	assert_bound("end<=-10%", 1000, 900);
	assert_bound("end<=+64k", 1000, 66536);
	assert_bound("end<=-64k", 1000, 0);
	assert_bound("end<=+0", 1000, 1000);
	assert_bound("end<=+100%", UINT64_MAX, UINT64_MAX);
	assert_bound("end<=+1", UINT64_MAX, UINT64_MAX);
}

static void limits_are_spelled_alike(void **state)
{
	struct limit limit;
	(void)state;
	assert_null(limit_parse(&limit, "  calls( fn=f(int, char) ,stack~a*b )==3 "));
	assert_string_equal(limit.subject, "calls( fn=f(int, char) ,stack~a*b )");
	assert_string_equal(limit.text, "calls( fn=f(int, char) ,stack~a*b ) == 3");
	assert_int_equal(limit.n_filters, 2);
	assert_string_equal(limit.filters[0].pattern, "f(int, char)");
	assert_string_equal(limit.filters[1].pattern, "a*b");
	limit_finish(&limit);
	assert_null(limit_parse(&limit, "live(at=1.5s,fn~x)<1k"));
	assert_int_equal(limit.at_ms, 1500);
	assert_int_equal(limit.op, LIMIT_LESS);
	limit_finish(&limit);
	assert_true(limit_is_one("peak<=1"));
	assert_false(limit_is_one("heap=new.check"));
}

static void comparisons_hold(void **state)
{
	static const struct {
		const char *text;
		bool below, equal, above;
	} all[] = { { "peak<=5", true, true, false },
		    { "peak<5", true, false, false },
		    { "peak==5", false, true, false },
		    { "peak>5", false, false, true },
		    { "peak>=5", false, true, true } };
	struct limit limit;
	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		assert_null(limit_parse(&limit, all[i].text));
		assert_int_equal(limit_holds(&limit, 4, 5), all[i].below);
		assert_int_equal(limit_holds(&limit, 5, 5), all[i].equal);
		assert_int_equal(limit_holds(&limit, 6, 5), all[i].above);
		limit_finish(&limit);
	}
}

static void other_texts_are_no_limits(void **state)
{
	static const char *const texts[] = { "",
					     "peak",
					     "peak<=",
					     "peak<=x",
					     "peak<=5x",
					     "peak<=5%",
					     "peak<=1.2.3",
					     "peak<=5 5",
					     "peak<=99999999999T",
					     "peak<=99999999999999999999",
					     "peak=5",
					     "weight<=5",
					     "peak(<=5",
					     "peak(stack~a<=5",
					     "peak()<=5",
					     "peak(stack~)<=5",
					     "peak(foo~a)<=5",
					     "rss(stack~a)<=5",
					     "live<=5",
					     "live(at=x)<=5",
					     "peak(at=1s)<=5",
					     "peak\n<=5",
					     "peak(fn~a,fn~a,fn~a,fn~a,fn~a,fn~a,fn~a,fn~a,fn~a)<=5" };
	struct limit limit;
	char *text = malloc(5000);
	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		if (!limit_parse(&limit, texts[i]))
			fail_msg("%s is a limit", texts[i]);
	}
	assert_non_null(text);
	memset(text, '(', 5000);
	text[4999] = '\0';
	assert_non_null(limit_parse(&limit, text));
	free(text);
}

/* Tried back and forth, this would take longer than the universe has. */
static void patterns_cannot_run_away(void **state)
{
	enum { PIECES = 200, LENGTH = 100000 };
	char pattern[2 * PIECES + 3] = "^", *text = malloc(LENGTH + 1);
	(void)state;
	assert_non_null(text);
	for (int i = 0; i < PIECES; i++)
		strcat(pattern, "*a");
	strcat(pattern, "b");
	memset(text, 'a', LENGTH);
	text[LENGTH] = '\0';
	assert_false(suppressions_match(pattern, text));
	text[LENGTH - 1] = 'b';
	assert_true(suppressions_match(pattern, text));
	free(text);
}

/* ---- Baselines ---- */

/* What is written of a baseline; to be freed. */
static char *written(struct baseline *b)
{
	char *text = calloc(1, 65536);
	FILE *file = tmpfile();
	assert_non_null(text);
	assert_non_null(file);
	struct out *out = out_create(fileno(file));
	assert_non_null(out);
	baseline_write(b, out);
	assert_int_equal(out_finish(out), 0);
	rewind(file);
	assert_true(fread(text, 1, 65535, file) < 65535);
	fclose(file);
	return text;
}

static void assert_same(const char *before, const char *after)
{
	struct baseline b = { 0 };
	struct baseline_error error;
	assert_true(baseline_parse(&b, before, &error));
	char *text = written(&b);
	assert_string_equal(text, after);
	free(text);
	baseline_finish(&b);
}

static void files_survive(void **state)
{
	static const char whole[] =
		"# A comment\n# in two lines\nlimit peak <= +5%\n\n# of the limit\nlimit end <= 0\n"
		"\n# of the run\nrun a b\n\tcalls(fn=f(int, int)) 3\n# of the peak\n\tpeak 5\n"
		"\tstack peak 5 main;operator new(unsigned long)\n\nrun z\n\tpeak 6\n# the end\n";
	(void)state;
	assert_same(whole, whole);
	/* Sorted, with one form of blanks. */
	assert_same("run z\npeak 1\nrun a\n stack peak 3 b\r\n  peak   2\nstack peak 4 a\n",
		    "\nrun a\n\tpeak 2\n\tstack peak 4 a\n\tstack peak 3 b\n\nrun z\n\tpeak 1\n");
	assert_same("run z\npeak 1\n# late\nlimit peak<=5\n", "# late\nlimit peak<=5\n\nrun z\n\tpeak 1\n");
	assert_same("", "");
}

static void updates_keep_comments(void **state)
{
	struct baseline b = { 0 };
	struct baseline_error error;
	(void)state;
	assert_true(baseline_parse(
		&b, "run a\n# why\npeak 5\n# old\nstack peak 5 main;x\nstack peak 4 main;y\nrun b\npeak 1\n",
		&error));
	struct baseline_run *run = baseline_open(&b, "a");
	assert_true(baseline_line_set(run, "peak", NULL, 3));
	assert_true(baseline_line_set(run, "peak", NULL, 2)); /* another run of the command */
	assert_true(baseline_line_set(run, "peak", "main;y", 9));
	assert_true(baseline_sweep(&b));
	char *text = written(&b);
	assert_string_equal(text,
			    "\n# old\nrun a\n# why\n\tpeak 3\n\tstack peak 9 main;y\n\nrun b\n\tpeak 1\n");
	free(text);
	baseline_finish(&b);
}

static void hostile_files_are_refused(void **state)
{
	static const struct {
		const char *text;
		size_t line;
	} all[] = { { "peak 5\n", 1 },
		    { "run a\npeak\n", 2 },
		    { "run a\npeak -5\n", 2 },
		    { "run a\npeak 99999999999999999999\n", 2 },
		    { "run a\npeak 5\npeak 6\n", 3 },
		    { "run a\nrun b\nrun a\n", 3 },
		    { "run \n", 1 },
		    { "limit peak\n", 1 },
		    { "run a\nstack rss 5 main\n", 2 },
		    { "run a\nstack peak 5\n", 2 },
		    { "run a\nstack peak main\n", 2 },
		    { "run a\n<<<<<<< HEAD\npeak 5\n=======\npeak 6\n>>>>>>> other\n", 2 },
		    { "\x7f"
		      "ELF\n",
		      1 } };
	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct baseline b = { 0 };
		struct baseline_error error;
		assert_false(baseline_parse(&b, all[i].text, &error));
		assert_int_equal(error.line, all[i].line);
		assert_non_null(error.why);
		baseline_finish(&b);
	}
}

static void large_files_are_refused(void **state)
{
	const size_t size = 4u << 20;
	char *text = malloc(size + 64), *to = text;
	struct baseline b = { 0 };
	struct baseline_error error;
	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; to < text + size; i++)
		to += sprintf(to, "run %u\n", i);
	assert_false(baseline_parse(&b, text, &error));
	baseline_finish(&b);
	to = text + sprintf(text, "run a\n");
	for (unsigned i = 0; to < text + size; i++)
		to += sprintf(to, "stack peak 1 main;f%u\n", i);
	assert_false(baseline_parse(&b, text, &error));
	baseline_finish(&b);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_have_units_and_signs),
		cmocka_unit_test(limits_are_spelled_alike),
		cmocka_unit_test(comparisons_hold),
		cmocka_unit_test(other_texts_are_no_limits),
		cmocka_unit_test(patterns_cannot_run_away),
		cmocka_unit_test(files_survive),
		cmocka_unit_test(updates_keep_comments),
		cmocka_unit_test(hostile_files_are_refused),
		cmocka_unit_test(large_files_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
