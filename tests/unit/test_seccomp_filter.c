/* SPDX-License-Identifier: MIT */
/* What filters allow: by hand, and compared with the kernel's answer for random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp_filter.h"

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define LOW(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i))
#define HIGH(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i) + 4)
#define GIVE(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOWED GIVE(SECCOMP_RET_ALLOW)
#define DENIED GIVE(SECCOMP_RET_ERRNO | 77)
#define N(program) (uint32_t)(sizeof(program) / sizeof(*(program)))

static bool allows(const struct sock_filter *program, uint32_t n, uint32_t number)
{
	return filter_allows(program, n, &(struct filter_call){ number, FILTER_NO_ARGUMENT, 0 });
}

#ifdef __aarch64__
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#define OWN_ARCH AUDIT_ARCH_X86_64
#endif

static void test_numbers(void **state)
{
	const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
		GIVE(SECCOMP_RET_KILL_PROCESS),
		NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 400, 1, 0),
		ALLOWED,
		DENIED,
	};
	(void)state;

	assert_true(allows(program, N(program), SYS_read));
	assert_false(allows(program, N(program), SYS_mmap));
	assert_false(allows(program, N(program), 400));
	assert_true(allows(program, N(program), 399));
}

/* As systemd's MemoryDenyWriteExecute. */
static void test_arguments(void **state)
{
	const struct sock_filter program[] = {
		NUMBER,  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4), HIGH(2),
		LOW(2),  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1),           DENIED,
		ALLOWED,
	};
	(void)state;

	assert_true(filter_allows(program, N(program), &(struct filter_call){ SYS_mprotect, 2, 3 }));
	assert_false(filter_allows(program, N(program), &(struct filter_call){ SYS_mprotect, 2, 5 }));
	assert_false(allows(program, N(program), SYS_mprotect));
	assert_true(allows(program, N(program), SYS_mmap));
}

static void test_actions(void **state)
{
	static const struct {
		uint32_t action;
		bool allowed;
	} actions[] = {
		{ SECCOMP_RET_ALLOW, true },         { SECCOMP_RET_LOG, true },
		{ SECCOMP_RET_KILL_PROCESS, false }, { SECCOMP_RET_KILL_THREAD, false },
		{ SECCOMP_RET_TRAP, false },         { SECCOMP_RET_ERRNO, false },
		{ SECCOMP_RET_TRACE, false },        { SECCOMP_RET_USER_NOTIF, false },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		const struct sock_filter program[] = { GIVE(actions[i].action) };

		assert_int_equal(allows(program, 1, SYS_read), actions[i].allowed);
	}
}

static void test_malformed(void **state)
{
	const struct sock_filter endless[] = { NUMBER };
	const struct sock_filter beyond[] = { BPF_STMT(BPF_JMP | BPF_JA, 0xfffffff0), ALLOWED };
	const struct sock_filter memory[] = { BPF_STMT(BPF_LD | BPF_MEM, 16), ALLOWED };
	const struct sock_filter data[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct seccomp_data)),
					    ALLOWED };
	const struct sock_filter zero[] = { BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOWED };
	static struct sock_filter wide[4096];
	(void)state;

	assert_false(allows(endless, 1, 0));
	assert_false(allows(endless, 0, 0));
	assert_false(allows(beyond, N(beyond), 0));
	assert_false(allows(memory, N(memory), 0));
	assert_false(allows(data, N(data), 0));
	assert_false(allows(zero, N(zero), 0));
	/* 2^2000 paths. */
	for (uint32_t i = 0; i + 1 < N(wide); i += 2) {
		wide[i] = (struct sock_filter)LOW(0);
		wide[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i, 0, 1);
	}
	wide[N(wide) - 1] = (struct sock_filter)ALLOWED;
	assert_false(allows(wide, N(wide), 0));
}

/* ---- the kernel's answer ---- */

/* An instruction that leads forward and whose outcome is an answer. */
static struct sock_filter any_instruction(uint32_t left)
{
	static const uint16_t operations[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR,
					       BPF_XOR, BPF_LSH, BPF_RSH, BPF_DIV };
	static const uint16_t jumps[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	const uint16_t source = rand() % 2 ? BPF_K : BPF_X;
	const uint32_t k = (uint32_t)rand() % 32;
	const uint16_t operation = operations[(unsigned)rand() % 9];

	switch (rand() % 8) {
	case 0:
		return (struct sock_filter)NUMBER;
	case 1:
		return (struct sock_filter)LOW((uint32_t)rand() % 6);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_MISC | (rand() % 2 ? BPF_TAX : BPF_TXA), 0);
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_ST, k % BPF_MEMWORDS);
	case 4:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_MEM, k % BPF_MEMWORDS);
	case 5:
		return (struct sock_filter)BPF_STMT(BPF_ALU | operation | (operation == BPF_DIV ? 0 : source),
						    operation == BPF_DIV ? k + 1 : k);
	default:
		return (struct sock_filter)BPF_JUMP(BPF_JMP | jumps[(unsigned)rand() % 4] | source, k,
						    (uint8_t)((uint32_t)rand() % left),
						    (uint8_t)((uint32_t)rand() % left));
	}
}

#define LENGTH 24u

static void make_filter(struct sock_filter program[LENGTH + 6])
{
	const struct sock_filter begin[] = { NUMBER,
					     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 1, 0),
					     ALLOWED };

	for (uint32_t i = 0; i < 3; i++)
		program[i] = begin[i];
	/* All memory is written before it is read, which the kernel demands. */
	for (uint32_t i = 3; i < LENGTH + 3; i++) {
		do
			program[i] = any_instruction(LENGTH + 4 - i);
		while (program[i].code == (BPF_LDX | BPF_MEM));
	}
	program[LENGTH + 3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
	program[LENGTH + 4] = (struct sock_filter)ALLOWED;
	program[LENGTH + 5] = (struct sock_filter)DENIED;
}

/* 0: allowed with these arguments; 77: not; others: the filter could not be installed. */
static int ask_kernel(struct sock_filter *program, uint32_t n, long value)
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		const struct sock_fprog whole = { (unsigned short)n, program };

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) != 0)
			_exit(1);
		errno = 0;
		syscall(SYS_getpriority, value, 0L, 0L, 0L, 0L, 0L);
		_exit(errno == 77 ? 77 : 0);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What is said to be allowed the kernel allows; a filter that looks at no unknown argument is known exactly. */
static void test_kernel(void **state)
{
	struct sock_filter program[LENGTH + 6];
	unsigned allowed = 0, denied = 0;
	(void)state;

	if (prctl(PR_GET_SECCOMP) < 0)
		skip(); /* there are no filters, as under qemu-user */
	srand(1);
	for (int i = 0; i < 300; i++) {
		bool unknown = false, said;
		int answer;

		make_filter(program);
		answer = ask_kernel(program, N(program), 1);
		if (answer == 1)
			continue;
		said = filter_allows(program, N(program), &(struct filter_call){ SYS_getpriority, 0, 1 });
		for (uint32_t k = 0; k < LENGTH + 3; k++)
			unknown |= program[k].code == (BPF_LD | BPF_W | BPF_ABS) && program[k].k > 16;
		if (said)
			assert_int_equal(answer, 0);
		else if (!unknown)
			assert_int_equal(answer, 77);
		allowed += said;
		denied += answer == 77;
	}
	assert_true(allowed > 10 && denied > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_actions), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
