/* SPDX-License-Identifier: MIT */
/*
 * What the machine code says of a function's return, against what its tables say: at all calls in the C library, and in
 * this program. Then pieces of code by hand.
 */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfi.h"
#include "elfsym.h"
#include "instruction.h"
#include "return_path.h"
#include "rules.h"
#include "sighting.h"

static struct return_path_work work;

/* ---- pieces of code ---- */

/* Functions of which nothing is called: only what follows `_at` is looked at. */
#define CODE(name, before, after)                                                                            \
	__asm__(".text; .type " #name ", @function; " #name ": " before "; call nothing; " #name             \
		"_at: " after "; .size " #name ", . - " #name);                                              \
	extern const uint8_t name##_at[];

__asm__(".text; .type nothing, @function; nothing: ret; .type ends, @function; ends: hlt");
extern const uint8_t nothing[], ends[];

CODE(plain, "sub $8, %rsp", "add $8, %rsp; ret")
CODE(saving, "push %r12; push %rbp; push %rbx; sub $0x118, %rsp",
     "test %eax, %eax; je 1f; add $0x118, %rsp; pop %rbx; pop %rbp; pop %r12; ret; 1: mov $1, %ebx; "
     "add $0x118, %rsp; mov %ebx, %eax; pop %rbx; pop %rbp; pop %r12; ret")
CODE(framed, "push %rbp; mov %rsp, %rbp; push %rbx; sub $24, %rsp",
     "sub %rax, %rsp; mov %rsp, %rdi; leave; ret")
CODE(framed_saving, "push %rbp; mov %rsp, %rbp; push %r12; push %rbx",
     "lea -16(%rbp), %rsp; pop %rbx; pop %r12; pop %rbp; ret")
CODE(tail, "push %rbp; push %rbx; push %rcx", "pop %rcx; pop %rbx; pop %rbp; jmp saving")
CODE(tail_elsewhere, "push %rbx", "pop %rbx; jmp *nothing_pointer(%rip)")
CODE(looping, "push %rbx", "1: dec %ebx; jne 1b; pop %rbx; ret")
CODE(stored, "sub $0x28, %rsp; mov %rbp, 0x20(%rsp)", "mov 0x20(%rsp), %rbp; add $0x28, %rsp; ret")
CODE(endless, "push %rbx", "mov %eax, %edi; call ends; push %rbp; pop %rbp; ret")
CODE(halting, "push %rbx", "hlt; ret")
CODE(entered, "push %rbp; push %rbx; sub $24, %rsp; mov %rdi, %rbp", "call ends")
extern const uint8_t entered[];
CODE(interrupted, "nop", "push %rbp; sub $16, %rsp; add $16, %rsp; pop %rbp; ret")
CODE(doubtful, "push %rbx; push %rcx",
     "test %eax, %eax; je 1f; call nothing; .globl after_doubtful; "
     "after_doubtful: ret; 1: pop %rcx; pop %rbx; ret")
__asm__(".data; nothing_pointer: .quad nothing; .text");

static const uintptr_t hand_endless[] = { (uintptr_t)ends };

/* The only answer, or 0. */
static uint64_t answer(const uint8_t *at)
{
	const struct return_path_code code = { (uintptr_t)at - 65536, (uintptr_t)at + 65536, hand_endless,
					       1 };
	uint64_t answers[RETURN_PATH_RULES];

	return return_path_find(&code, (uintptr_t)at, &work, answers) == 1 ? answers[0] : 0;
}

/* CFA = sp, or bp, + 8 * cfa; the caller's bp at CFA - 8 * bp, if that is not 0. */
static uint64_t made_rule(bool from_bp, uint64_t cfa, uint64_t bp)
{
	return RULE_COMPACT | (from_bp ? RULE_FROM_BP : 0) | cfa << RULE_CFA_SHIFT | bp << RULE_BP_SHIFT;
}

static void test_pieces(void **state)
{
	(void)state;
	assert_int_equal(answer(plain_at), made_rule(false, 2, 0));
	assert_int_equal(answer(saving_at), made_rule(false, 0x118 / 8 + 4, 3));
	assert_int_equal(answer(framed_at), made_rule(true, 2, 2));
	assert_int_equal(answer(framed_saving_at), made_rule(true, 2, 2));
	assert_int_equal(answer(tail_at), made_rule(false, 4, 2));
	assert_int_equal(answer(tail_elsewhere_at), made_rule(false, 2, 0));
	assert_int_equal(answer(looping_at), made_rule(false, 2, 0));
	assert_int_equal(answer(stored_at), made_rule(false, 6, 2));
	assert_int_equal(answer(interrupted_at), made_rule(false, 1, 0));
}

static void test_no_return(void **state)
{
	(void)state;
	assert_int_equal(answer(endless_at), 0);
	assert_int_equal(answer(halting_at), 0);
	assert_int_equal(answer(entered_at), 0);
	assert_int_equal(return_path_enter(&(struct return_path_code){ (uintptr_t)entered,
								       (uintptr_t)entered + 64, NULL, 0 },
					   (uintptr_t)entered, (uintptr_t)entered_at, &work),
			 made_rule(false, 6, 2));
}

/* Behind a call that does not return, but is not known for it, is another function: both answers are given. */
static void test_doubt(void **state)
{
	const struct return_path_code code = { (uintptr_t)doubtful_at, (uintptr_t)doubtful_at + 4096, NULL,
					       0 };
	uint64_t answers[RETURN_PATH_RULES];

	(void)state;
	assert_int_equal(return_path_find(&code, (uintptr_t)doubtful_at, &work, answers), 2);
	assert_true(answers[0] == made_rule(false, 3, 0) || answers[1] == made_rule(false, 3, 0));
}

/* What lies behind the code's end is not read. */
static void test_bounds(void **state)
{
	struct return_path_code code = { (uintptr_t)looping_at, (uintptr_t)looping_at + 3, NULL, 0 };
	uint64_t answers[RETURN_PATH_RULES];

	(void)state;
	assert_int_equal(return_path_find(&code, (uintptr_t)looping_at, &work, answers), 0);
	code = (struct return_path_code){ 4096, 3 * 4096, NULL, 0 };
	assert_int_equal(return_path_find(&code, 2 * 4096 - 1, &work, answers), 0);
}

static void test_calls(void **state)
{
	(void)state;
	assert_true(return_path_follows_call((uintptr_t)plain_at));
	assert_false(return_path_follows_call((uintptr_t)plain_at - 1));
	assert_false(return_path_follows_call(64));
}

/* ---- whole libraries ---- */

static struct {
	unsigned calls; /* with a compact rule */
	unsigned right, among, none, wrong;
} found;

static void compare(const struct return_path_code *code, const struct cfi_function *function, uintptr_t pc)
{
	static struct cfi_work tables;
	uint64_t answers[RETURN_PATH_RULES], rule;
	unsigned n, i;

	if (!cfi_find_row(function, pc - 1, &tables))
		return;
	rule = rule_pack(function, &tables.row);
	if (RULE_KIND(rule) != RULE_COMPACT)
		return;
	n = return_path_find(code, pc, &work, answers);
	for (i = 0; i < n && answers[i] != rule; i++)
		;
	found.calls++;
	found.right += n == 1 && i == 0;
	found.among += n > 1 && i < n;
	found.none += n == 0;
	found.wrong += n > 0 && i == n;
	if (i == n && getenv("VERBOSE"))
		print_message("%#lx: tables %#lx, code %#lx (%u)\n", (unsigned long)(pc - code->start),
			      (unsigned long)rule, n ? (unsigned long)answers[0] : 0, n);
}

static bool is_call(const struct instruction *i)
{
	return i->map == 1 && (i->opcode == 0xe8 || (i->opcode == 0xff && i->reg % 8 == 2));
}

/* A call of a function that does not return: the code behind it belongs to another path, or function. */
static bool is_last(const struct return_path_code *code, const struct instruction *i, uintptr_t next)
{
	for (unsigned k = 0; i->opcode == 0xe8 && k < code->n_endless; k++) {
		if (code->endless[k] == next + (uintptr_t)i->immediate)
			return true;
	}
	return false;
}

static void compare_function(const struct return_path_code *code, const struct cfi_function *function)
{
	struct instruction i;

	for (uintptr_t at = function->start; at < function->end; at += i.length) {
		if (!instruction_decode((const uint8_t *)at, function->end - at, &i))
			break;
		if (is_call(&i) && at + i.length < function->end && !is_last(code, &i, at + i.length))
			compare(code, function, at + i.length);
	}
}

/* All functions of the object that `inside` is in. */
static void compare_object(const void *inside)
{
	static const char *const names[] = { "exit",
					     "_exit",
					     "abort",
					     "longjmp",
					     "__libc_fatal",
					     "__assert_fail",
					     "__stack_chk_fail",
					     "pthread_exit",
					     "err",
					     "errx" };
	uintptr_t endless[sizeof(names) / sizeof(*names)];
	struct return_path_code code = { .endless = endless };
	struct cfi_function function;
	struct cfi_section section;
	struct sighting seen;

	assert_true(sighting_find((uintptr_t)inside, &seen));
	section = sighting_frames(&seen);
	code.start = seen.start;
	code.end = seen.end;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		endless[code.n_endless] = elfsym_in(seen.bias, seen.headers, seen.header_count, names[i]);
		code.n_endless += endless[code.n_endless] != 0;
	}
	for (uintptr_t at = seen.start; at < seen.end; at++) {
		if (!cfi_find(&section, at, &function) || function.start < at)
			continue;
		compare_function(&code, &function);
		at = function.end - 1;
	}
}

static void test_tables(void **state)
{
	(void)state;
	sighting_init(NULL);
	compare_object(dlsym(RTLD_DEFAULT, "hcreate")); /* of libc, in sanitizers, too */
	print_message("%u calls: %u as the tables say, %u among others, %u not found, %u otherwise\n",
		      found.calls, found.right, found.among, found.none, found.wrong);
	assert_true(found.calls > 1000);
	/* The rest is behind calls that don't return; those of assertions have no exported name in glibc 2.41. */
	const bool exported = strverscmp(gnu_get_libc_version(), "2.41") < 0;
	assert_true(found.right + found.among > found.calls / 100 * (exported ? 96 : 94));
	assert_true(found.wrong < found.calls / (exported ? 100 : 50));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_no_return),
		cmocka_unit_test(test_doubt),  cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_calls),  cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
