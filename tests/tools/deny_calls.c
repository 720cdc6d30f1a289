/* SPDX-License-Identifier: MIT */
/*
 * Executes a program that a seccomp filter denies some system calls, as kernels without them and containers do:
 * deny_calls [membarrier|memfd_create|wipeonfork]... -- PROGRAM [ARGUMENT]...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RULES_MOST 32

static const struct call {
	const char *name;
	unsigned number;
	int error;  /* as a kernel without the call has it */
	int advice; /* the third argument; -1: any */
} calls[] = {
	{ "membarrier", SYS_membarrier, ENOSYS, -1 },
	{ "memfd_create", SYS_memfd_create, EPERM, -1 },
	{ "wipeonfork", SYS_madvise, EINVAL, MADV_WIPEONFORK },
};

static struct sock_filter rules[RULES_MOST];
static unsigned short n_rules;

static void add(struct sock_filter rule)
{
	rules[n_rules++] = rule;
}

/* Little-endian: the lower half of an argument lies at its beginning. */
static void deny(const struct call *call)
{
	const unsigned char skipped = call->advice < 0 ? 1 : 3;

	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, skipped));
	if (call->advice >= 0) {
		add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args[2])));
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call->advice, 0, 1));
	}
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)call->error));
}

static const struct call *find(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sock_fprog filter = { .filter = rules };
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct call *call = find(argv[i]);

		if (!call || n_rules + 6 > RULES_MOST) {
			fprintf(stderr, "deny_calls: %s?\n", argv[i]);
			return 64;
		}
		deny(call);
	}
	if (i + 1 >= argc)
		return 64;
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	filter.len = n_rules;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 1;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 1;
}
