/* SPDX-License-Identifier: MIT */
/* Functions whose first instructions are displaced give what they gave before, and call what stands before them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "code_memory.h"
#include "displace.h"
#include "entry_code.h"

#define FUNCTION(name, code)                                                                                 \
	__asm__(".text; .balign 16; .type " #name ", @function; " #name ": " code "; .size " #name           \
		", . - " #name "; .balign 16; " #name "_end:");                                              \
	extern long name(long a, long b);                                                                    \
	extern const uint8_t name##_end[]

/* Data and code that the functions use. */
__asm__(".data; .balign 8; displaced_value: .long 40; displaced_pointer: .quad displaced_helper; .text; .balign 16;"
	"displaced_helper: lea 7(%rdi), %rax; ret");

FUNCTION(plain, "push %rbp; mov %rsp, %rbp; lea (%rdi,%rsi,2), %rax; pop %rbp; ret");
FUNCTION(marked, "endbr64; push %rbx; mov %rdi, %rbx; mov %rbx, %rax; pop %rbx; ret");
FUNCTION(relative, "mov displaced_value(%rip), %eax; add %rdi, %rax; ret");
FUNCTION(relative_with_number,
	 "cmpl $40, displaced_value(%rip); sete %al; movzbl %al, %eax; add %rsi, %rax; ret");
FUNCTION(short_if, "test %edi, %edi; je 1f; mov %rdi, %rax; ret; 1: mov $-1, %rax; ret");
FUNCTION(two_ifs, "jo 2f; js 2f; jc 2f; xor %eax, %eax; 2: lea (%rsi), %rax; ret");
FUNCTION(short_jump, "jmp 3f; .skip 20, 0xcc; 3: lea 3(%rdi), %rax; ret");
FUNCTION(far_jump, "jmp displaced_helper");
FUNCTION(calls, "push %rbx; call displaced_helper; inc %rax; pop %rbx; ret");
FUNCTION(calls_at_once, "call displaced_helper; add %rax, %rax; ret");
FUNCTION(calls_pointer, "sub $8, %rsp; call *displaced_pointer(%rip); add $8, %rsp; ret");
FUNCTION(tiny, "mov %rdi, %rax; ret");
FUNCTION(jumps_back, "mov $1, %eax; 5: dec %rdi; jns 5b; ret");
FUNCTION(restarts, "lea (%rdi,%rsi), %rax; dec %rsi; jns restarts; ret");

FUNCTION(loops, "jrcxz 6f; nop; nop; nop; 6: ret");
FUNCTION(calls_register, "call *%rax; nop; nop; nop; ret");
FUNCTION(jumps_in, "xor %eax, %eax; 7: dec %edi; jns 7b; ret");
__asm__(".text; .balign 16; touches: ret; touched: push %rbp; pop %rbp; ret; .balign 16");
extern long touches(long a, long b);

/* ---- what stands before a function ---- */

struct before {
	uintptr_t real;
	unsigned calls;
};

static long before(long a, long b, struct before *before)
{
	before->calls++;
	return ((long (*)(long, long))before->real)(a, b);
}

static void displace(long (*function)(long, long), const uint8_t *end, struct entry *entry)
{
	const struct code code = { (const uint8_t *)function, (uint64_t)(end - (const uint8_t *)function),
				   (uintptr_t)function };

	*entry = (struct entry){ .shape = ENTRY_CALLOC };
	assert_null(displace_first(&code, 0, entry));
	assert_in_range(entry->n_displaced, ENTRY_JUMP_BYTES, ENTRY_DISPLACED_MOST);
}

static void check(long (*function)(long, long), const uint8_t *end)
{
	static const long values[][2] = { { 0, 0 }, { 1, 2 }, { 17, 5 }, { 3, -1 }, { 100, 40 } };
	const uintptr_t at = code_map_near((uintptr_t)function, (uintptr_t)function, 4096);
	uint8_t piece[ENTRY_PIECE], jump[ENTRY_JUMP_BYTES];
	struct before state = { .real = at + ENTRY_REAL_AT };
	long wanted[5];
	struct entry entry;

	assert_true(at != 0);
	for (unsigned i = 0; i < 5; i++)
		wanted[i] = function(values[i][0], values[i][1]);
	displace(function, end, &entry);
	assert_true(entry_code_piece(piece, at, &entry, 0,
				     &(struct entry_target){ (uintptr_t)before, 2, (uintptr_t)&state }));
	assert_true(code_write(at, piece, sizeof(piece)));
	/* Nothing runs what the jump leaves of the displaced instructions. */
	memset(piece, 0xcc, sizeof(piece));
	assert_true(code_write(entry.address, piece, entry.n_displaced));
	assert_true(entry_code_jump(jump, entry.address, at) &&
		    code_write(entry.address, jump, sizeof(jump)));
	for (unsigned i = 0; i < 5; i++) {
		const unsigned calls = state.calls;

		assert_int_equal(function(values[i][0], values[i][1]), wanted[i]);
		assert_true(state.calls > calls);
	}
	assert_true(code_write(entry.address, entry.displaced, entry.n_displaced));
	assert_int_equal(function(17, 5), wanted[2]);
	munmap((void *)at, 4096);
}

#define TEST(name)                                                                                           \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		check(name, name##_end);                                                                     \
	}

TEST(plain)
TEST(marked)
TEST(relative)
TEST(relative_with_number)
TEST(short_if)
TEST(two_ifs)
TEST(short_jump)
TEST(far_jump)
TEST(calls)
TEST(calls_at_once)
TEST(calls_pointer)
TEST(tiny)
TEST(jumps_back)
TEST(restarts)

/* ---- room for pieces ---- */

extern const char __executable_start[];

/* Takes `taken` bytes below the program. Returns where there is room then. */
static uintptr_t room_beside(uint64_t taken)
{
	const uintptr_t start = (uintptr_t)__executable_start;
	void *const wanted = (void *)(start - taken);
	uintptr_t at;

	assert_ptr_equal(mmap(wanted, taken, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0),
			 wanted);
	at = code_map_near(start, (uintptr_t)plain_end, 4096);
	munmap(wanted, taken);
	munmap((void *)at, 4096);
	return at;
}

static void test_room(void **state)
{
	const uintptr_t start = (uintptr_t)__executable_start, end = (uintptr_t)plain_end;
	const uint64_t gib = UINT64_C(1) << 30;

	(void)state;
	assert_in_range(room_beside(gib), end - 2 * gib, start - gib);
	assert_in_range(room_beside(2 * gib), end, start + 2 * gib);
}

/* ---- refusals ---- */

static const char *reason_of(long (*function)(long, long), uint64_t size)
{
	const struct code code = { (const uint8_t *)function, 64, (uintptr_t)function };
	struct entry entry;

	return displace_first(&code, size, &entry);
}

static void test_refused(void **state)
{
	(void)state;
	assert_string_equal(reason_of(loops, 0), "it begins with an unusual branch");
	assert_string_equal(reason_of(calls_register, 0), "it begins with an unusual call");
	assert_string_equal(reason_of(jumps_in, 0), "code jumps to its first instructions");
	assert_string_equal(reason_of(touches, 1), "it is shorter than a jump");
	assert_string_equal(reason_of(touches, 0), "it is shorter than a jump");
}

/* Bytes that are no instructions, and code that ends. */
static void test_damaged(void **state)
{
	static const uint8_t bad[] = { 0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06 };
	const struct code code = { bad, sizeof(bad), 0x1000 };
	struct entry entry;

	(void)state;
	assert_string_equal(displace_first(&code, 8, &entry), "its first instructions are not known");
	for (uint64_t n = 0; n < ENTRY_JUMP_BYTES; n++)
		assert_non_null(displace_first(&(struct code){ (const uint8_t *)plain, n, (uintptr_t)plain },
					       0, &entry));
}

/* A jump behind the first byte, in code whose functions are not known. */
static void test_targets(void **state)
{
	uint8_t bytes[600];
	const struct code code = { bytes, sizeof(bytes), 0x400000 };
	const struct entry entry = { .address = 0x400010, .n_displaced = 6 };

	(void)state;
	for (unsigned target = 0x400000; target < 0x400030; target++) {
		const bool inside = target > 0x400010 && target < 0x400016;
		const int32_t far = (int32_t)(target - (0x400000 + 500 + 5));

		memset(bytes, 0x90, sizeof(bytes));
		assert_false(displace_may_be_target(&code, &entry, 1));
		bytes[500] = 0xe9;
		memcpy(bytes + 501, &far, sizeof(far));
		assert_int_equal(displace_may_be_target(&code, &entry, 1), inside);
		memset(bytes + 500, 0x90, 5);
		bytes[100] = 0x7e;
		bytes[101] = (uint8_t)(target - (0x400000 + 102));
		assert_int_equal(displace_may_be_target(&code, &entry, 1), inside);
	}
	/* The same bytes in the middle of an instruction: mov $number, %rax. */
	memset(bytes, 0x90, sizeof(bytes));
	bytes[498] = 0x48;
	bytes[499] = 0xb8;
	bytes[500] = 0xe9;
	memcpy(bytes + 501, &(int32_t){ 0x12 - 505 }, 4);
	assert_false(displace_may_be_target(&code, &entry, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),         cmocka_unit_test(test_marked),
		cmocka_unit_test(test_relative),      cmocka_unit_test(test_relative_with_number),
		cmocka_unit_test(test_short_if),      cmocka_unit_test(test_two_ifs),
		cmocka_unit_test(test_short_jump),    cmocka_unit_test(test_far_jump),
		cmocka_unit_test(test_calls),         cmocka_unit_test(test_calls_at_once),
		cmocka_unit_test(test_calls_pointer), cmocka_unit_test(test_tiny),
		cmocka_unit_test(test_jumps_back),    cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_room),          cmocka_unit_test(test_refused),
		cmocka_unit_test(test_damaged),       cmocka_unit_test(test_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
