/* SPDX-License-Identifier: MIT */
/* What the unwinder makes of aarch64's tables: its code and that processor's headers, built for whichever runs the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cfi.h"
#include "jumps.h"
#include "rules.h"
#include "sigreturn.h"

#define START 0xffff00001000u
#define WORDS_AT 0xffff80000000u
#define PC 0xffff12345678u
#define SIGNATURE (UINT64_C(0x5a39) << 48)

/* A header without a table, one CIE, and one FDE for 256 bytes from START on. */
struct section {
	uint8_t bytes[256];
	size_t used;
};

static void put(struct section *s, const void *bytes, size_t n)
{
	assert_true(s->used + n <= sizeof(s->bytes));
	memcpy(s->bytes + s->used, bytes, n);
	s->used += n;
}

static void put_u32(struct section *s, uint32_t value)
{
	put(s, &value, sizeof(value));
}

static void put_u64(struct section *s, uint64_t value)
{
	put(s, &value, sizeof(value));
}

static void end_entry(struct section *s, size_t at)
{
	const uint32_t size = (uint32_t)(s->used - at - 4);

	memcpy(s->bytes + at, &size, sizeof(size));
}

/* CFA = sp; code in units of 4 bytes, data in units of -8, absolute pointers; which key signs, as compilers say it. */
static struct cfi_section build(struct section *s, const char *key, const uint8_t *program, size_t n)
{
	static const uint8_t header[] = { 1, 0x1b, 0xff, 0xff, 4, 0, 0, 0 };
	static const uint8_t factors[] = { 4, 0x78, 30 };
	static const uint8_t initial[] = { 0x0c, 31, 0 };
	size_t cie, fde;

	s->used = 0;
	put(s, header, sizeof(header));
	cie = s->used;
	put_u32(s, 0);
	put_u32(s, 0);
	put(s, "\1z", 2);
	put(s, key, strlen(key));
	put(s, "R", 2);
	put(s, factors, sizeof(factors));
	put(s, "\1\0", 2);
	put(s, initial, sizeof(initial));
	end_entry(s, cie);
	fde = s->used;
	put_u32(s, 0);
	put_u32(s, (uint32_t)(fde + 4 - cie));
	put_u64(s, START);
	put_u64(s, 256);
	put(s, "", 1);
	put(s, program, n);
	end_entry(s, fde);
	return (struct cfi_section){ (uintptr_t)s->bytes, (uintptr_t)s->bytes + sizeof(header),
				     (uintptr_t)s->bytes + sizeof(header), (uintptr_t)s->bytes + s->used };
}

static struct section section;
static struct cfi_function function;
static struct cfi_work work;

static void find_row(const char *key, const uint8_t *program, size_t n, uintptr_t offset)
{
	const struct cfi_section tables = build(&section, key, program, n);

	assert_true(cfi_find(&tables, START + offset, &function));
	assert_true(cfi_find_row(&function, START + offset, &work));
}

static uint64_t rule_at(const char *key, const uint8_t *program, size_t n, uintptr_t offset)
{
	find_row(key, program, n, offset);
	return rule_pack(&function, &work.row);
}

/* stp x29, x30, [sp, -32]!; the rest; ldp x29, x30, [sp], 32; ret */
static const uint8_t plain[] = { 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x48, 0xdd, 0xde, 0x0e, 0 };
/* paciasp; the same; autiasp; ret. In between an early return. */
static const uint8_t with_signature[] = { 0x41, 0x2d, 0x41, 0x0e, 32,   0x9d, 4,    0x9e, 3,
					  0x44, 0x0a, 0xdd, 0xde, 0x0e, 0,    0x41, 0x2d, 0x41,
					  0x0b, 0x44, 0xdd, 0xde, 0x0e, 0,    0x41, 0x2d };
/* x29 and x30 at the top of a frame that x29 finds. */
static const uint8_t framed[] = { 0x41, 0x0c, 29, 16, 0x9d, 2, 0x9e, 1 };

static void test_rules(void **state)
{
	const uintptr_t cfa = WORDS_AT + 4096;
	uint64_t rule;

	(void)state;
	assert_int_equal(rule_at("", plain, sizeof(plain), 0), RULE_GENERAL);
	rule = rule_at("", plain, sizeof(plain), 4);
	assert_int_equal(RULE_KIND(rule), RULE_COMPACT);
	assert_false(rule & RULE_FROM_BP);
	assert_int_equal(rule >> RULE_CFA_SHIFT & RULE_CFA_WORDS_MAX, 4);
	assert_int_equal(compact_return_at(rule, cfa), cfa - 24);
	assert_true(compact_moves_bp(rule));
	assert_int_equal(compact_bp_at(rule, cfa), cfa - 32);
	assert_int_equal(compact_return(rule, SIGNATURE | PC), SIGNATURE | PC);
	assert_int_equal(rule_at("", plain, sizeof(plain), 36), RULE_GENERAL);

	rule = rule_at("B", framed, sizeof(framed), 8);
	assert_int_equal(RULE_KIND(rule), RULE_COMPACT);
	assert_true(rule & RULE_FROM_BP);
	assert_int_equal(compact_return_at(rule, cfa), cfa - 8);
	assert_int_equal(compact_bp_at(rule, cfa), cfa - 16);
	assert_true(rule_of_scripts(rule) != rule && rule_is_of_scripts(rule_of_scripts(rule)));
	assert_int_equal(rule_without_scripts(rule_of_scripts(rule)), rule);
}

static void test_limits(void **state)
{
	/* CFA = sp + 32760, or + 32768; x30 at its bottom. */
	static const uint8_t large[] = { 0x41, 0x0e, 0xf8, 0xff, 1, 0x9e, 1 };
	static const uint8_t larger[] = { 0x41, 0x0e, 0x80, 0x80, 2, 0x9e, 1 };
	static const uint8_t deep[] = { 0x41, 0x0e, 0xf8, 0xff, 1, 0x9e, 0xff, 0x0f };
	static const uint8_t deeper[] = { 0x41, 0x0e, 0xf8, 0xff, 1, 0x9e, 0x80, 0x10 };
	static const uint8_t apart[] = { 0x41, 0x0e, 32, 0x9d, 1, 0x9e, 2 };
	static const uint8_t outermost[] = { 0x07, 30 };
	const uint64_t rule = rule_at("", large, sizeof(large), 4);

	(void)state;
	assert_int_equal(RULE_KIND(rule), RULE_COMPACT);
	assert_int_equal(rule >> RULE_TAG_SHIFT, 0);
	assert_false(compact_moves_bp(rule));
	assert_int_equal(compact_bp_at(rule, WORDS_AT), compact_return_at(rule, WORDS_AT));
	assert_int_equal(rule_at("", larger, sizeof(larger), 4), RULE_GENERAL);
	assert_int_equal(compact_return_at(rule_at("", deep, sizeof(deep), 4), WORDS_AT),
			 WORDS_AT - 8 * 2047);
	assert_int_equal(rule_at("", deeper, sizeof(deeper), 4), RULE_GENERAL);
	assert_int_equal(rule_at("", apart, sizeof(apart), 4), RULE_GENERAL);
	assert_int_equal(rule_at("", outermost, sizeof(outermost), 0), RULE_OUTERMOST);
}

/* Every address of code has a key of its own. */
static void test_keys(void **state)
{
	const struct rule_place here = rule_place(PC, false);

	(void)state;
	for (unsigned bit = CODE_ALIGN_LOG2; bit < 48; bit++) {
		const struct rule_place there = rule_place(PC ^ (UINT64_C(1) << bit), false);

		assert_true(there.bucket != here.bucket || there.tag != here.tag);
	}
	assert_true(rule_place(PC, true).tag != here.tag || rule_place(PC, true).bucket != here.bucket);
}

static void test_signed_rows(void **state)
{
	static const bool is_signed[] = { false, true, true, true, true, true, true,
					  false, true, true, true, true, true, false };

	(void)state;
	for (uintptr_t i = 0; i < sizeof(is_signed); i++) {
		find_row(i % 2 ? "B" : "", with_signature, sizeof(with_signature), 4 * i);
		assert_int_equal(work.row.signed_return, is_signed[i]);
	}
	assert_int_equal(
		compact_return(rule_at("", with_signature, sizeof(with_signature), 12), SIGNATURE | PC), PC);
}

/* ---- steps ---- */

static uint64_t words[8];

static bool read_word(void *context, uintptr_t address, unsigned bytes, bool link, uint64_t *value)
{
	(void)context;
	(void)link;
	if (bytes != 8 || address < WORDS_AT || address > WORDS_AT + sizeof(words) - 8)
		return false;
	*value = words[(address - WORDS_AT) / 8];
	return true;
}

static enum cfi_result take_step(struct cfi_state *state, bool all_registers, cfi_set *used)
{
	struct cfi_step step = { .read = read_word, .state = state, .all_registers = all_registers };
	const enum cfi_result result = cfi_take_step(&step, &work);

	*used = step.used;
	return result;
}

/* In the function's first instructions the return address is in x30: signed or not. */
static void test_leaves(void **state)
{
	struct cfi_state frame = { .known = CFI_FOLLOWED };
	cfi_set used;

	(void)state;
	find_row("", with_signature, sizeof(with_signature), 4);
	frame.value[CFI_SP] = WORDS_AT;
	frame.value[CFI_BP] = 29;
	frame.value[CFI_PC] = START + 4;
	frame.value[CFI_X30] = SIGNATURE | PC;
	assert_int_equal(take_step(&frame, false, &used), CFI_NEEDS_REGISTER);
	frame.known |= CFI_BIT(CFI_X30);
	assert_int_equal(take_step(&frame, true, &used), CFI_OK);
	assert_int_equal(frame.value[CFI_PC], PC);
	assert_int_equal(frame.value[CFI_SP], WORDS_AT);
	assert_int_equal(frame.value[CFI_BP], 29);
	assert_true(used & CFI_BIT(CFI_X30));

	find_row("", plain, sizeof(plain), 0);
	frame.value[CFI_X30] = PC + 4;
	assert_int_equal(take_step(&frame, true, &used), CFI_OK);
	assert_int_equal(frame.value[CFI_PC], PC + 4);
}

static void test_saved(void **state)
{
	struct cfi_state frame = { .known = CFI_FOLLOWED | CFI_PRESERVED };
	cfi_set used;

	(void)state;
	find_row("B", with_signature, sizeof(with_signature), 8);
	words[0] = WORDS_AT + 64;
	words[1] = SIGNATURE | PC;
	frame.value[CFI_SP] = WORDS_AT;
	frame.value[CFI_X28] = 28;
	assert_int_equal(take_step(&frame, true, &used), CFI_OK);
	assert_int_equal(frame.value[CFI_PC], PC);
	assert_int_equal(frame.value[CFI_SP], WORDS_AT + 32);
	assert_int_equal(frame.value[CFI_BP], WORDS_AT + 64);
	assert_int_equal(frame.value[CFI_X28], 28);
	assert_int_equal(frame.value[CFI_X30], SIGNATURE | PC);
	assert_int_equal(used, CFI_BIT(CFI_SP));
}

/* ---- code ---- */

static void test_jumps(void **state)
{
	static const struct {
		uint32_t instruction;
		int64_t distance;
	} known[] = {
		{ 0x14000002, 8 },  { 0x17ffffff, -4 },  /* b */
		{ 0x54000040, 8 },  { 0x54ffffe1, -4 },  /* b.eq, b.ne */
		{ 0xb4000083, 16 }, { 0x35ffff80, -16 }, /* cbz x3, cbnz w0 */
		{ 0x36180041, 8 },  { 0xb7ffffe1, -4 },  /* tbz, tbnz */
		{ 0x94000002, 0 },  { 0xd65f03c0, 0 },   /* bl, ret */
		{ 0xd61f0000, 0 },  { 0xd503201f, 0 },   /* br, nop */
	};
	uint32_t code[4] = { 0xd503201f, 0x54000040, 0xd503201f, 0xd65f03c0 };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(jump_distance(known[i].instruction), known[i].distance);
	assert_true(jumps_into((uintptr_t)code, (uintptr_t)(code + 3), (uintptr_t)(code + 3),
			       (uintptr_t)(code + 4)));
	assert_false(jumps_into((uintptr_t)code, (uintptr_t)(code + 1), (uintptr_t)(code + 3),
				(uintptr_t)(code + 4)));
}

static void test_sigreturn(void **state)
{
	uint32_t code[2] = { 0xd2801168, 0xd4000001 };

	(void)state;
	assert_true(sigreturn_is(code));
	code[0] ^= 1 << 5;
	assert_false(sigreturn_is(code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_keys),  cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_saved), cmocka_unit_test(test_signed_rows),
		cmocka_unit_test(test_jumps), cmocka_unit_test(test_sigreturn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
