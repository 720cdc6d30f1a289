/* SPDX-License-Identifier: MIT */
/*
 * pages CALL N [filter]: makes a call N times and prints CPU nanoseconds for one. With `filter`, page calls trap by
 * seccomp into a handler that makes them, the alternative to the patched sites of msrec --pages.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- the calls ---- */

static void pair(void)
{
	munmap(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
}

static void deep_pair(int depth)
{
	volatile char here = (char)depth;

	if (depth > 0)
		deep_pair(depth - 1);
	else
		pair();
	here = here + 1;
}

static void pair_below_30(void)
{
	deep_pair(30);
}

static void large_block(void)
{
	void *volatile block = malloc((size_t)64 << 20);

	free(block);
}

static void program_break(void)
{
	sbrk(4096);
	sbrk(-4096);
}

static void parent(void)
{
	getppid();
}

static void parent_by_number(void)
{
	syscall(SYS_getppid);
}

static void small_block(void)
{
	void *volatile block = malloc(64);

	free(block);
}

static const struct {
	const char *name;
	void (*run)(void);
} calls[] = {
	{ "pair", pair },           { "deep", pair_below_30 }, { "large", large_block },
	{ "break", program_break }, { "getppid", parent },     { "syscall", parent_by_number },
	{ "small", small_block },
};

/* ---- the other way ---- */

/* The filter lets calls from here pass. */
long pages_stub(long number, long a, long b, long c, long d, long e, long f);
extern char pages_stub_behind[];
__asm__("pages_stub:\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	syscall\n"
	"pages_stub_behind:\n"
	"	ret\n");

static void on_trap(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	r[REG_RAX] =
		pages_stub(r[REG_RAX], r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
}

#define TRAP(nr, to) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, to, 0)

static void install(void)
{
	const unsigned long behind = (unsigned long)pages_stub_behind;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		TRAP(SYS_mmap, 6),
		TRAP(SYS_munmap, 5),
		TRAP(SYS_mremap, 4),
		TRAP(SYS_brk, 3),
		TRAP(SYS_shmat, 2),
		TRAP(SYS_shmdt, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)behind, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("pages");
		exit(1);
	}
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	double begin;

	for (size_t i = 0; n && i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, argv[1]) != 0)
			continue;
		if (argc > 3)
			install();
		for (unsigned long k = 0; k < n / 10; k++)
			calls[i].run();
		begin = cpu_ns();
		for (unsigned long k = 0; k < n; k++)
			calls[i].run();
		printf("%.1f\n", (cpu_ns() - begin) / (double)n);
		return 0;
	}
	fprintf(stderr, "usage: pages CALL N [filter]\n");
	return 2;
}
