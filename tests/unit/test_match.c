/* SPDX-License-Identifier: MIT */
/* Which stack of one build is which of another: names, labels, matching, noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"
#include "label_text.h"
#include "labels.h"
#include "match.h"
#include "mstrace.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- Names ---- */

static void assert_text(void (*change)(char *), const char *before, const char *after)
{
	char text[256];
	snprintf(text, sizeof(text), "%s", before);
	change(text);
	assert_string_equal(text, after);
}

static void what_compilers_add_is_dropped(void **state)
{
	(void)state;
	assert_text(label_text_trim, "parse", "parse");
	assert_text(label_text_trim, "parse.isra.0", "parse");
	assert_text(label_text_trim, "parse.constprop.0.isra.12.cold", "parse");
	assert_text(label_text_trim, "parse.llvm.1234567890", "parse");
	assert_text(label_text_trim, "f(int) [clone .part.0] [clone .cold]", "f(int)");
	assert_text(label_text_trim, "core::f::h0123456789abcdef", "core::f");
	assert_text(label_text_trim, "core::f::h0123456789abcdeg", "core::f::h0123456789abcdeg");
	assert_text(label_text_trim, "g[abi:cxx11](int)", "g(int)");
	assert_text(label_text_trim, "memcpy@@GLIBC_2.14", "memcpy");
	assert_text(label_text_trim, "__GI___strdup", "strdup");
	assert_text(label_text_trim, "__GI__IO_file_doallocate", "_IO_file_doallocate");
	assert_text(label_text_trim, "__GI_", "__GI_");
	/* Names of Go, and parts of a program that OpenMP makes, are names. */
	assert_text(label_text_trim, "main.func1", "main.func1");
	assert_text(label_text_trim, "f._omp_fn.0", "f._omp_fn.0");
	assert_text(label_text_trim, "", "");
	assert_text(label_text_trim, ".cold", ".cold");
	assert_text(label_text_trim, "x [clone ", "x [clone ");
}

static void parameters_are_loose(void **state)
{
	(void)state;
	assert_text(label_text_loosen, "f", "f");
	assert_text(label_text_loosen, "f(int, char*)", "f");
	assert_text(label_text_loosen, "void ns::f<int, std::vector<int> >(int) const", "ns::f");
	assert_text(label_text_loosen, "std::vector<int, std::allocator<int> >::push_back(int&&)",
		    "std::vector::push_back");
	assert_text(label_text_loosen, "(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	assert_text(label_text_loosen, "operator new(unsigned long)", "operator new");
	assert_text(label_text_loosen, "X::operator()(int)", "X::operator()");
	assert_text(label_text_loosen, "X::operator<(X const&)", "X::operator<");
	assert_text(label_text_loosen, "std::ostream& operator<< <char>(std::ostream&)", "operator<<");
	assert_text(label_text_loosen, "X::operator bool() const", "X::operator bool");
	assert_text(label_text_loosen, "f(int)::g(char) const", "f::g");
	assert_text(label_text_loosen, "void f(int) const::{lambda(int)#1}::operator()(int) const",
		    "f::{}::operator()");
	assert_text(label_text_loosen, "main::{lambda(int)#1}::operator()(int) const",
		    "main::{}::operator()");
	assert_text(label_text_loosen, "{unnamed type#1}::f(int)", "{unnamed type#1}::f");
	assert_text(label_text_loosen, "f<", "f");
	assert_text(label_text_loosen, "", "");
}

/* Names of the same function by rustc's old and new mangling, and in debug information. */
static void a_function_of_rust_has_several_names(void **state)
{
	static const char *const functions[][4] = {
		{ "alloc::vec::Vec::with_capacity", "<alloc::vec::Vec<u8>>::with_capacity",
		  "alloc::vec::Vec<T,A>::with_capacity", "<alloc::vec::Vec<T>>::with_capacity::<A>" },
		{ "[::to_vec", "alloc::slice::<impl [T]>::to_vec", "<[u8]>::to_vec", "<[T]>::to_vec::<A>" },
		{ "alloc::borrow::ToOwned::to_owned",
		  "alloc::slice::<impl alloc::borrow::ToOwned for [T]>::to_owned",
		  "<[u8] as alloc::borrow::ToOwned>::to_owned",
		  "<T as alloc::borrow::ToOwned<U>>::to_owned" },
		{ "[::to_vec_in::ConvertVec::to_vec",
		  "<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
		  "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>" },
		{ "core::ops::function::FnOnce::call_once",
		  "<fn() as core::ops::function::FnOnce<()>>::call_once",
		  "core::ops::function::FnOnce::call_once",
		  "<&dyn core::ops::Fn<(), Output = i32> + core::Sync as core::ops::function::FnOnce<()>>::call_once" },
		{ "main::f::{}", "main::f::{{closure}}", "main::f::{closure#0}",
		  "main::f::<u8>::{closure#12}" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(functions); i++) {
		for (size_t k = 1; k < 4 && functions[i][k]; k++)
			assert_text(label_text_loosen, functions[i][k], functions[i][0]);
	}
	assert_text(label_text_loosen, "<<<<<<<<<<<<<<<<", "");
	assert_text(label_text_loosen, "<a as <b as <c as d<e", "d");
	assert_text(label_text_loosen, "<[<", "[");
	assert_text(label_text_loosen, "<impl ", "");
	assert_text(label_text_loosen, "<{lambda", "{}");
}

static void versions_of_libraries_are_dropped(void **state)
{
	(void)state;
	assert_text(label_text_module, "libfoo.so.1.2.3", "libfoo.so");
	assert_text(label_text_module, "libc-2.31.so", "libc.so");
	assert_text(label_text_module, "plugin.so", "plugin.so");
	assert_text(label_text_module, "lib.sofa.so.3", "lib.sofa.so");
	assert_text(label_text_module, "prog", "prog");
	assert_text(label_text_module, "1.2.so", "1.2.so");
}

/* ---- Matching ---- */

enum { MOST = 16 };

/* A side of texts: "main/parse/alloc" is a stack whose innermost function is alloc; "f*7" has 7 calls, else 1. */
struct builder {
	struct labels *labels;
	struct match_stack stacks[2][MOST];
	uint32_t labels_of[2][MOST][64];
	struct match_side sides[2];
	struct match match;
};

static void add_stack(struct builder *b, int side, const char *text)
{
	char copy[512], *save, *words[64], *calls;
	const uint32_t i = b->sides[side].n++;
	uint32_t n = 0;
	snprintf(copy, sizeof(copy), "%s", text);
	calls = strchr(copy, '*');
	if (calls)
		*calls++ = '\0';
	for (char *word = strtok_r(copy, "/", &save); word; word = strtok_r(NULL, "/", &save))
		words[n++] = word;
	for (uint32_t k = 0; k < n; k++) {
		const char *name = words[n - 1 - k];
		const bool named = *name != '0';
		assert_true(labels_add(b->labels,
				       &(struct labelled){ name, named, named ? "" : "lib.so",
							   side ? "new" : "old", *name == '~', false },
				       &b->labels_of[side][i][k]));
	}
	b->stacks[side][i] =
		(struct match_stack){ b->labels_of[side][i], n, calls ? strtoull(calls, NULL, 10) : 1 };
	b->sides[side].stacks = b->stacks[side];
}

static struct builder *build(const char *const *old_texts, const char *const *new_texts)
{
	struct builder *b = calloc(1, sizeof(*b));
	assert_non_null(b);
	b->labels = labels_create();
	assert_non_null(b->labels);
	for (; *old_texts; old_texts++)
		add_stack(b, 0, *old_texts);
	for (; *new_texts; new_texts++)
		add_stack(b, 1, *new_texts);
	const struct match_labels list = labels_list(b->labels);
	assert_true(match_stacks(&b->match, &b->sides[0], &b->sides[1], &list));
	return b;
}

static void destroy(struct builder *b)
{
	match_finish(&b->match);
	labels_destroy(b->labels);
	free(b);
}

/* `pairs`: of each old stack its partner, -1 for none; `how`: the first letters, - for none. */
static void assert_match(const char *const *old_texts, const char *const *new_texts, const int *pairs,
			 const char *how)
{
	struct builder *b = build(old_texts, new_texts);
	for (uint32_t i = 0; i < b->sides[0].n; i++) {
		const uint32_t partner = b->match.new_of[i];
		if (partner != (uint32_t)pairs[i])
			fail_msg("%s has partner %d instead of %d", old_texts[i], (int)partner, pairs[i]);
		assert_int_equal(how[i] == '-' ? 'n' : how[i], *match_names[b->match.how[i]]);
		if (partner != MST_NONE)
			assert_int_equal(b->match.old_of[partner], i);
	}
	destroy(b);
}

#define TEXTS(...)                                                                                           \
	(const char *const[])                                                                                \
	{                                                                                                    \
		__VA_ARGS__, NULL                                                                            \
	}
#define PAIRS(...)                                                                                           \
	(const int[])                                                                                        \
	{                                                                                                    \
		__VA_ARGS__                                                                                  \
	}

static void equal_functions_are_the_same(void **state)
{
	(void)state;
	assert_match(TEXTS("main/a/x", "main/b/x"), TEXTS("main/b/x", "main/a/x"), PAIRS(1, 0), "ss");
	assert_match(TEXTS("main/a.isra.0/x"), TEXTS("main/a/x.constprop.1"), PAIRS(0), "s");
	assert_match(TEXTS("main/void f<int>(int)/x"), TEXTS("main/void f<long>(long)/x"), PAIRS(0), "s");
	/* Exactly equal ones come first. */
	assert_match(TEXTS("main/f(int)", "main/f(long)"), TEXTS("main/f(long)", "main/f(char)"), PAIRS(1, 0),
		     "ss");
	assert_match(TEXTS("main/a/x"), TEXTS("main/b/y/z"), PAIRS(-1), "-");
}

static void renamed_functions_are_found(void **state)
{
	(void)state;
	/* Two stacks agree. */
	assert_match(TEXTS("main/parse/x*10", "main/parse/y*10", "main/z"),
		     TEXTS("main/read/x*99", "main/read/y*99", "main/z"), PAIRS(0, 1, 2), "rrs");
	/* One does, whose calls are alike; also the innermost function, and two in one stack. */
	assert_match(TEXTS("main/a/parse*10", "main/z"), TEXTS("main/a/read*11", "main/z"), PAIRS(0, 1),
		     "rs");
	assert_match(TEXTS("main/a/b/c/d"), TEXTS("main/a/B/c/D"), PAIRS(0), "r");
	/* It is none if the function is still there, or what it does is another thing. */
	assert_match(TEXTS("main/a/parse*10", "main/z"), TEXTS("main/a/read*10", "main/z/parse"),
		     PAIRS(-1, -1), "--");
	assert_match(TEXTS("main/a/parse*10", "main/z"), TEXTS("main/a/read*1000", "main/z"), PAIRS(-1, 1),
		     "-s");
	/* Which of two became which is open. */
	assert_match(TEXTS("main/a/p", "main/a/q"), TEXTS("main/a/r", "main/a/s"), PAIRS(-1, -1), "--");
	/* What one stack shows, another profits from. */
	assert_match(TEXTS("main/a/p*10", "main/p/b/c"), TEXTS("main/a/q*10", "main/q/b/c*99"), PAIRS(0, 1),
		     "rr");
}

static void moved_functions_are_found(void **state)
{
	(void)state;
	/* A wrapper came, a function was inlined away. */
	assert_match(TEXTS("main/a/b/x*5"), TEXTS("main/a/b/x/xmalloc*5"), PAIRS(0), "m");
	assert_match(TEXTS("main/a/helper/x*5", "main/z"), TEXTS("main/a/x*5", "main/z"), PAIRS(0, 1), "ms");
	/* Four of five, with the same ends, though all functions are in both builds. */
	assert_match(TEXTS("main/a/b/c/d/x", "main/e/y"), TEXTS("main/a/e/b/c/d/x", "main/e/y"), PAIRS(0, 1),
		     "ms");
	/* Three of four are not enough; nor are other ends. */
	assert_match(TEXTS("main/a/b/x", "main/e/y"), TEXTS("main/a/e/x", "main/e/y", "main/b/y"),
		     PAIRS(-1, 1), "-s");
	assert_match(TEXTS("main/a/b/c/d/x", "main/y"), TEXTS("main/a/b/c/d/y", "main/x"), PAIRS(-1, -1),
		     "--");
	/* The innermost function may be gone from the stack by a tail call. */
	assert_match(TEXTS("main/a/b/c/d/x", "main/x"), TEXTS("main/a/b/c/d", "main/x"), PAIRS(0, 1), "ms");
	/* The better partner wins. */
	assert_match(TEXTS("main/a/b/c/d/e/f/x", "main/u/v/y"),
		     TEXTS("main/a/b/c/d/u/f/x", "main/a/b/c/d/u/e/f/x", "main/u/v/y"), PAIRS(1, 2), "ms");
}

static void depth_of_recursion_may_differ(void **state)
{
	(void)state;
	assert_match(TEXTS("main/f/f/f/f/x", "main/f/x"), TEXTS("main/f/f/f/f/f/x", "main/f/x"), PAIRS(0, 1),
		     "ms");
	assert_match(TEXTS("main/f/f/f/f/f/f/f/f/x"), TEXTS("main/f/x"), PAIRS(0), "m");
	assert_match(TEXTS("main/f/x", "main/f/f/x", "main/f/f/f/x"),
		     TEXTS("main/f/x", "main/f/f/x", "main/f/f/f/x"), PAIRS(0, 1, 2), "sss");
}

static void insides_of_libraries_may_differ(void **state)
{
	(void)state;
	assert_match(TEXTS("main/a/b/~push/~grow/~raw/~get"), TEXTS("main/a/b/~emplace"), PAIRS(0), "m");
	assert_match(TEXTS("main/a/b/push/grow/raw/get"), TEXTS("main/a/b/emplace"), PAIRS(-1), "-");
	assert_match(TEXTS("main/~call/~try/~do/a/~push"), TEXTS("main/~invoke/a/~insert/~get"), PAIRS(0),
		     "m");
	assert_match(TEXTS("main/a/~push/~get*9", "main/a/~reserve/~get*2"),
		     TEXTS("main/a/~have*2", "main/a/~put*9"), PAIRS(1, 0), "mm");
	assert_match(TEXTS("~start/~get"), TEXTS("~begin/~have"), PAIRS(-1), "-");
}

static void code_without_names_is_not_guessed(void **state)
{
	(void)state;
	/* The build differs, so do addresses. */
	assert_match(TEXTS("0x10/0x20/0x30"), TEXTS("0x11/0x21/0x31"), PAIRS(-1), "-");
	assert_match(TEXTS("main/a/0x10/x"), TEXTS("main/a/0x20/x"), PAIRS(0), "s");
}

static void insides_have_labels_of_their_own(void **state)
{
	const struct labelled code[] = {
		{ "PyList_Append", true, "python3", "", false, false },
		{ "PyList_Append", true, "python3", "", true, true },
		{ "[python3+0x12a17]", false, "python3", "one", false, false },
		{ "[python3+0x12a17]", false, "python3", "one", true, true },
	};
	uint32_t of[COUNT(code)], again;
	struct labels *labels = labels_create();
	(void)state;
	assert_non_null(labels);
	for (size_t i = 0; i < COUNT(code); i++)
		assert_true(labels_add(labels, &code[i], &of[i]));
	const struct match_labels list = labels_list(labels);
	for (size_t i = 0; i < COUNT(code); i++) {
		assert_int_equal(list.hidden[of[i]], code[i].hidden);
		assert_int_equal(list.hidden[list.loose[of[i]]], code[i].hidden);
		assert_string_equal(labels_function(labels, of[i]), code[i].function);
	}
	for (size_t i = 0; i < COUNT(code); i++) {
		assert_true(labels_add(labels, &code[i], &again));
		assert_int_equal(again, of[i]);
	}
	labels_destroy(labels);
}

static void addresses_of_runs_are_places_in_pages(void **state)
{
	const struct labelled code[] = {
		{ "[libfoo.so.1+0x7f93fd814a17]", false, "libfoo.so.1", "one", false, false },
		{ "[libfoo.so.1.0+0x12a17]", false, "libfoo.so.1.0", "other", false, false },
		{ "[libfoo.so.1+0x12a18]", false, "libfoo.so.1", "one", false, false },
		{ "[bar+0x12a17]", false, "bar", "one", false, false },
		{ "[]", false, "", "", false, false },
	};
	uint32_t labels[COUNT(code)], apart[COUNT(code)];
	struct labels *all = labels_create(), *by_page = labels_create();
	(void)state;
	assert_non_null(all);
	assert_non_null(by_page);
	labels_by_page(by_page);
	for (size_t i = 0; i < COUNT(code); i++) {
		assert_true(labels_add(all, &code[i], &apart[i]));
		assert_true(labels_add(by_page, &code[i], &labels[i]));
	}
	assert_int_not_equal(apart[0], apart[1]);
	assert_int_equal(labels[0], labels[1]);
	assert_int_not_equal(labels[0], labels[2]);
	assert_int_not_equal(labels[0], labels[3]);
	labels_destroy(all);
	labels_destroy(by_page);
}

static void empty_sides_match(void **state)
{
	(void)state;
	assert_match((const char *const[]){ NULL }, TEXTS("main/a"), PAIRS(0), "");
	assert_match(TEXTS("main/a"), (const char *const[]){ NULL }, PAIRS(-1), "-");
}

static void subsequences_are_the_longest(void **state)
{
	uint64_t budget = 1000000, none = 0;
	const uint32_t a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 3, 9, 2, 4, 5, 8, 6 };
	(void)state;
	assert_int_equal(match_common(a, 6, a, 6, &none), 6);
	assert_int_equal(match_common(a, 6, b, 8, &budget), 5);
	assert_int_equal(match_common(a, 6, b, 8, &none), 2); /* the ends */
	assert_int_equal(match_common(a, 0, b, 8, &budget), 0);
	assert_true(budget < 1000000);
}

/* All texts share their ends and are alike, the worst there is. */
static void many_stacks_take_bounded_time(void **state)
{
	enum { N = 20000, DEPTH = 24, WORDS = 40 };
	struct match_stack *stacks = calloc(2 * (size_t)N, sizeof(*stacks));
	uint32_t *labels = calloc(2 * (size_t)N * DEPTH, sizeof(*labels)), loose[WORDS], seed = 1;
	uint8_t nameless[WORDS] = { 0 };
	struct match match = { 0 };
	(void)state;
	assert_non_null(stacks);
	assert_non_null(labels);
	for (uint32_t i = 0; i < WORDS; i++)
		loose[i] = i;
	for (size_t i = 0; i < 2 * (size_t)N * DEPTH; i++) {
		seed = seed * 1664525 + 1013904223;
		labels[i] = i % DEPTH == 0 ? 0 : i % DEPTH == DEPTH - 1 ? 1 : 2 + (seed >> 16) % (WORDS - 2);
	}
	for (size_t i = 0; i < 2 * (size_t)N; i++)
		stacks[i] = (struct match_stack){ labels + i * DEPTH, DEPTH, 1 };
	assert_true(match_stacks(&match, &(struct match_side){ stacks, N },
				 &(struct match_side){ stacks + N, N },
				 &(struct match_labels){ loose, nameless, WORDS, NULL }));
	match_finish(&match);
	free(stacks);
	free(labels);
}

/* ---- Noise ---- */

static void noise_is_known_of_several(void **state)
{
	(void)state;
	assert_int_equal(base_noise(FIGURE_PEAK, 1, 1000000, 500), 0);
	assert_int_equal(base_noise(FIGURE_PEAK, 3, 1000, 0), 4096);
	assert_int_equal(base_noise(FIGURE_PEAK, 3, 1000000, 0), 10000);
	assert_int_equal(base_noise(FIGURE_PEAK, 3, 1000000, 5000), 15000);
	assert_int_equal(base_noise(FIGURE_CALLS, 3, 50, 0), 0);
	assert_int_equal(base_noise(FIGURE_CALLS, 3, 5000, 0), 50);
	assert_true(base_noise(FIGURE_CALLS, 3, 5000, UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_compilers_add_is_dropped),
		cmocka_unit_test(parameters_are_loose),
		cmocka_unit_test(a_function_of_rust_has_several_names),
		cmocka_unit_test(versions_of_libraries_are_dropped),
		cmocka_unit_test(equal_functions_are_the_same),
		cmocka_unit_test(renamed_functions_are_found),
		cmocka_unit_test(moved_functions_are_found),
		cmocka_unit_test(depth_of_recursion_may_differ),
		cmocka_unit_test(insides_of_libraries_may_differ),
		cmocka_unit_test(code_without_names_is_not_guessed),
		cmocka_unit_test(insides_have_labels_of_their_own),
		cmocka_unit_test(addresses_of_runs_are_places_in_pages),
		cmocka_unit_test(empty_sides_match),
		cmocka_unit_test(subsequences_are_the_longest),
		cmocka_unit_test(many_stacks_take_bounded_time),
		cmocka_unit_test(noise_is_known_of_several),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
