/* SPDX-License-Identifier: MIT */
/* Option values by Massif's grammar, their refusals, and output names. Texts and limits were
 * observed on Massif 3.19. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "args.h"
#include "number.h"
#include "option_words.h"
#include "tool.h"

static void integers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} cases[] = {
		{ "", true, 0 },
		{ "0", true, 0 },
		{ " \t\n\v\f\r7", true, 7 },
		{ "+5", true, 5 },
		{ "-5", true, -5 },
		{ "-", false, 0 },
		{ "  ", false, 0 },
		{ "- 5", false, 0 },
		{ "5 ", false, 0 },
		{ "0x10", false, 0 },
		{ "5x", false, 0 },
		{ "x", false, 0 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "18446744073709551646", true, 30 }, /* wraps */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t value;
		assert_int_equal(number_integer(cases[i].text, &value), cases[i].ok);
		if (cases[i].ok)
			assert_true(value == cases[i].value);
	}
}

static void naturals(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t most;
		bool ok;
		uint64_t value;
	} cases[] = {
		{ "0", 0, true, 0 },
		{ "1", 0, false, 0 },
		{ " +07", 9, true, 7 },
		{ "19", 19, true, 19 },
		{ "20", 19, false, 0 },
		{ "", 9, false, 0 },
		{ "-0", 9, false, 0 },
		{ "5x", 9, false, 0 },
		{ "18446744073709551615", UINT64_MAX, true, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, false, 0 },
		{ "99999999999999999999", UINT64_MAX, false, 0 },
		{ "9223372036854775808", INT64_MAX, false, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t value;
		assert_int_equal(number_natural(cases[i].text, cases[i].most, &value), cases[i].ok);
		if (cases[i].ok)
			assert_true(value == cases[i].value);
	}
}

static void floats(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok;
		double value;
	} cases[] = {
		{ "", true, 0 },           { ".", true, 0 },       { "-", true, 0 },
		{ "+", true, 0 },          { "  ", true, 0 },      { "1.", true, 1 },
		{ ".5", true, 0.5 },       { " +1.5", true, 1.5 }, { "-2.25", true, -2.25 },
		{ "100.0000", true, 100 }, { "1e3", false, 0 },    { "1.5.5", false, 0 },
		{ "--5", false, 0 },       { "5 ", false, 0 },     { "nan", false, 0 },
		{ "inf", false, 0 },       { "0x1", false, 0 },    { "- 3", false, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double value;
		assert_int_equal(number_float(cases[i].text, &value), cases[i].ok);
		if (cases[i].ok)
			assert_true(value == cases[i].value);
	}
}

/* 0.1*6 + 0.01*7 + 0.001*5, summed from the left, is above the nearest double to 0.675. */
static void float_is_not_strtod(void **state)
{
	(void)state;
	double value;
	assert_true(number_float("2.675", &value));
	assert_true(value > strtod("2.675", NULL));
}

static error_t parse(struct args *args, char *option)
{
	char *argv[] = { (char *)"tool", option, NULL };
	return argp_parse(&args_argp, 2, argv, ARGP_SILENT, NULL, args);
}

static void defaults(void **state)
{
	(void)state;
	struct args args;
	assert_true(args_init(&args));
	const struct settings *s = &args.settings;
	assert_int_equal(s->time_unit, TIME_DEFAULT);
	assert_true(s->heap && !s->stacks && !s->pages_as_heap && !s->show_below_main);
	assert_int_equal(s->heap_admin, 8);
	assert_int_equal(s->alignment, 16);
	assert_int_equal(s->depth, 30);
	assert_int_equal(s->detailed_freq, 10);
	assert_int_equal(s->max_snapshots, 100);
	assert_true(s->threshold == 1.0 && s->peak_inaccuracy == 1.0);
	assert_int_equal(s->alloc_fns.n, 16);
	assert_string_equal(s->alloc_fns.names[0], "malloc");
	assert_int_equal(s->ignore_fns.n, 0);
	assert_string_equal(s->out_file, "massif.out.%p");
	assert_string_equal(s->desc, "");
	args_finish(&args);
}

/* A version brings its allocation functions, before those that other options add, in any order. */
static void versions(void **state)
{
	(void)state;
	const struct {
		const char *options[2];
		enum compat compat;
	} orders[] = {
		{ { "--alloc-fn=mine", "--compat=3.24" }, COMPAT_3_24 },
		{ { "--compat=3.27", "--alloc-fn=mine" }, COMPAT_3_27 },
		{ { "--compat=latest", "--alloc-fn=mine" }, COMPAT_LATEST },
	};
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		struct args args;
		assert_true(args_init(&args));
		assert_int_equal(parse(&args, (char *)orders[i].options[0]), 0);
		assert_int_equal(parse(&args, (char *)orders[i].options[1]), 0);
		const struct settings *s = &args.settings;
		assert_int_equal(s->compat, orders[i].compat);
		assert_int_equal(s->alloc_fns.n, 18);
		assert_string_equal(s->alloc_fns.names[6], "aligned_alloc");
		assert_string_equal(s->alloc_fns.names[17], "mine");
		assert_int_equal(parse(&args, (char *)"--compat=3.19"), 0);
		assert_int_equal(s->alloc_fns.n, 17);
		assert_string_equal(s->alloc_fns.names[16], "mine");
		args_finish(&args);
	}
}

static void accepted(void **state)
{
	(void)state;
	static const char *const options[] = {
		"--heap=no",
		"--heap-admin=0",
		"--heap-admin=1024",
		"--heap-admin=18446744073709551617",
		"--stacks=yes",
		"--pages-as-heap=no",
		"--depth=1",
		"--depth=200",
		"--depth= 5",
		"--alloc-fn=",
		"--alloc-fn=a b",
		"--ignore-fn=f",
		"--threshold=0",
		"--threshold=100",
		"--peak-inaccuracy=-5",
		"--peak-inaccuracy=5000",
		"--time-unit=i",
		"--time-unit=ms",
		"--time-unit=B",
		"--detailed-freq=1",
		"--detailed-freq=1000000",
		"--max-snapshots=10",
		"--max-snapshots=1000",
		"--massif-out-file=%",
		"--alignment=16",
		"--alignment=4096",
		"--alignment=18446744073709551632",
		"--trace-malloc=yes",
		"--xtree-memory=none",
		"--xtree-memory=allocs",
		"--xtree-memory=full",
		"--xtree-memory-file=x",
		"--xtree-compress-strings=no",
		"--realloc-zero-bytes-frees=yes",
	};
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct args args;
		assert_true(args_init(&args));
		assert_int_equal(parse(&args, (char *)options[i]), 0);
		assert_null(args.refusal.text);
		assert_string_equal(args.settings.desc, options[i]);
		args_finish(&args);
	}
}

/* Massif's first line has the value that an option without one means. */
static void alone(void **state)
{
	(void)state;
	static const struct {
		const char *option, *desc;
	} cases[] = {
		{ "--stacks", "--stacks=yes" },
		{ "--pages-as-heap", "--pages-as-heap=yes" },
		{ "--pages", "--pages-as-heap=yes" },
		{ "--pages=no", "--pages-as-heap=no" },
		{ "--heap", "--heap=yes" },
		{ "--xtree-compress-strings", "--xtree-compress-strings=yes" },
		{ "--exact-peak", "--exact-peak" },
		{ "--stats", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct args args;
		assert_true(args_init(&args));
		assert_int_equal(parse(&args, (char *)cases[i].option), 0);
		assert_string_equal(args.settings.desc, cases[i].desc);
		args_finish(&args);
	}
}

static void usable_models(void **state)
{
	(void)state;
	static const struct {
		const char *option;
		enum usable_model model;
	} cases[] = {
		{ "--usable", USABLE_REAL },
		{ "--usable=yes", USABLE_REAL },
		{ "--usable=no", USABLE_ROUNDED },
		{ "--usable=valgrind", USABLE_VALGRIND },
		{ "--usable=requested", USABLE_REQUESTED },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct args args;
		assert_true(args_init(&args));
		assert_int_equal(parse(&args, (char *)cases[i].option), 0);
		assert_int_equal(args.settings.usable, cases[i].model);
		args_finish(&args);
	}
}

static void undescribed(void **state)
{
	(void)state;
	static const char *const options[] = {
		"--show-below-main=yes",
		"--fullpath-after=/x",
		"--usable=rounded",
	};
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct args args;
		assert_true(args_init(&args));
		assert_int_equal(parse(&args, (char *)options[i]), 0);
		assert_string_equal(args.settings.desc, "");
		args_finish(&args);
	}
}

#define BAD(option, why)                                                                                     \
	{                                                                                                    \
		option, "Bad option: " option "\n" why "\n" REFUSAL_USE_HELP, REFUSAL_MASSIF                 \
	}
#define UNAVAILABLE(option, why)                                                                             \
	{                                                                                                    \
		option, option ": " why, REFUSAL_USAGE                                                       \
	}

static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *option, *problem;
		int status;
	} cases[] = {
		BAD("--depth=0", "'--depth' argument must be between 1 and 200"),
		BAD("--depth=201", "'--depth' argument must be between 1 and 200"),
		BAD("--depth=", "'--depth' argument must be between 1 and 200"),
		BAD("--depth=-2147483648", "'--depth' argument must be between 1 and 200"),
		BAD("--depth=2147483648", "Invalid integer value '2147483648'"),
		BAD("--depth=x", "Invalid integer value 'x'"),
		BAD("--heap-admin=1025", "'--heap-admin' argument must be between 0 and 1024"),
		BAD("--heap-admin=-1", "'--heap-admin' argument must be between 0 and 1024"),
		BAD("--heap-admin=4294967297", "'--heap-admin' argument must be between 0 and 1024"),
		BAD("--max-snapshots=9", "'--max-snapshots' argument must be between 10 and 1000"),
		BAD("--max-snapshots=1001", "'--max-snapshots' argument must be between 10 and 1000"),
		BAD("--detailed-freq=0", "'--detailed-freq' argument must be between 1 and 1000000"),
		BAD("--threshold=100.1", "--threshold must be between 0.0 and 100.0"),
		BAD("--threshold=-1", "--threshold must be between 0.0 and 100.0"),
		BAD("--threshold=1e3", "Invalid floating point value '1e3'"),
		BAD("--peak-inaccuracy=x", "Invalid floating point value 'x'"),
		BAD("--heap=maybe", "Invalid boolean value 'maybe' (should be 'yes' or 'no')"),
		BAD("--heap=", "Invalid boolean value '' (should be 'yes' or 'no')"),
		BAD("--alignment=17", "Alignment must be a power of 2 in the range 16..4096."),
		BAD("--alignment=8192", "Alignment must be a power of 2 in the range 16..4096."),
		BAD("--alignment=", "Alignment must be a power of 2 in the range 16..4096."),
		BAD("--alignment=-16", "Invalid integer value '-16'"),
		BAD("--alignment=4294967312", "Invalid integer value '4294967312'"),
		UNAVAILABLE("--time-unit=s", "should be i, ms or B"),
		UNAVAILABLE("--time-unit=", "should be i, ms or B"),
		UNAVAILABLE("--xtree-memory=foo", "should be none, allocs or full"),
		UNAVAILABLE("--usable=guessed", "should be rounded, valgrind, real or requested"),
		UNAVAILABLE("--usable=", "should be rounded, valgrind, real or requested"),
		UNAVAILABLE("--compat=3.18", "should be 3.19, 3.24, 3.27, latest or fixed"),
		BAD("--xtree-compress-strings=1", "Invalid boolean value '1' (should be 'yes' or 'no')"),
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct args args;
		assert_true(args_init(&args));
		assert_int_not_equal(parse(&args, (char *)cases[i].option), 0);
		assert_non_null(args.refusal.text);
		assert_string_equal(args.refusal.text, cases[i].problem);
		assert_int_equal(args.refusal.status, cases[i].status);
		args_finish(&args);
	}
}

/* To Massif 3.19 a value that is none of an option's words is an unknown option. --compat may come later. */
static void unknown_to_massif(void **state)
{
	(void)state;
	static const char *const options[][2] = {
		{ "--time-unit=s", "--compat=3.19" },
		{ "--compat=3.19", "--time-unit=s" },
		{ "--xtree-memory=foo", "--compat=3.19" },
	};
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct args args;
		char *argv[] = { (char *)"tool", (char *)options[i][0], (char *)options[i][1], NULL };
		assert_true(args_init(&args));
		assert_int_equal(argp_parse(&args_argp, 3, argv, ARGP_SILENT, NULL, &args), EINVAL);
		assert_int_equal(strncmp(args.refusal.text, "Unknown option: --", 18), 0);
		assert_int_equal(args.refusal.status, REFUSAL_MASSIF);
		args_finish(&args);
	}
}

static void prepended(void **state)
{
	(void)state;
	char *argv[] = { (char *)"tool", (char *)"--depth=3", (char *)"T", NULL };
	int argc = 3;
	char **words = option_words_prepend(" --heap=no\t--time-unit=B\n", &argc, argv);
	assert_non_null(words);
	static const char *const want[] = { "tool", "--heap=no", "--time-unit=B", "--depth=3", "T" };
	assert_int_equal(argc, 5);
	for (int i = 0; i < argc; i++)
		assert_string_equal(words[i], want[i]);
	assert_null(words[argc]);

	struct args args;
	assert_true(args_init(&args));
	assert_int_equal(argp_parse(&args_argp, argc - 1, words, ARGP_SILENT, NULL, &args), 0);
	assert_string_equal(args.settings.desc, "--heap=no --time-unit=B --depth=3");
	assert_int_equal(args.settings.depth, 3);
	args_finish(&args);
	free(words);

	argc = 3;
	words = option_words_prepend(NULL, &argc, argv);
	assert_int_equal(argc, 3);
	free(words);
}

static void names(void **state)
{
	(void)state;
	setenv("MSREC_TEST_NAME", "v/w", 1);
	unsetenv("MSREC_TEST_UNSET");
	static const struct {
		const char *pattern, *result; /* the name, or the explanation's first line */
		bool ok;
	} cases[] = {
		{ "massif.out.%p", "massif.out.4711", true },
		{ "a%%b%n-%n", "a%b1-2", true },
		{ "%q{MSREC_TEST_NAME}.x", "v/w.x", true },
		{ "/a/~", "/a/~", true },
		{ "", "No filename given", false },
		{ "~/x", "Filename begins with '~'", false },
		{ "%x", "Expected 'p' or 'q' or '%' after '%'", false },
		{ "a%", "Expected 'p' or 'q' or '%' after '%'", false },
		{ "%q", "Expected '{' after '%q'", false },
		{ "%q{A", "Missing '}' in %q specifier", false },
		{ "%q{}", "Environment variable '' is not set", false },
		{ "%q{MSREC_TEST_UNSET}", "Environment variable 'MSREC_TEST_UNSET' is not set", false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct outname outname = { .pid = 4711 };
		char *why;
		char *name = outname_expand(&outname, cases[i].pattern, &why);
		assert_int_equal(name != NULL, cases[i].ok);
		char *text = name ? name : why;
		assert_non_null(text);
		text[strcspn(text, "\n")] = '\0';
		assert_string_equal(text, cases[i].result);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),      cmocka_unit_test(naturals),
		cmocka_unit_test(floats),        cmocka_unit_test(float_is_not_strtod),
		cmocka_unit_test(defaults),      cmocka_unit_test(versions),
		cmocka_unit_test(accepted),      cmocka_unit_test(undescribed),
		cmocka_unit_test(refused),       cmocka_unit_test(prepended),
		cmocka_unit_test(names),         cmocka_unit_test(alone),
		cmocka_unit_test(usable_models), cmocka_unit_test(unknown_to_massif),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
