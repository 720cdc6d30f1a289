/* SPDX-License-Identifier: MIT */
/*
 * Programs whose seccomp filter allows only their own system calls and those of the recorder that msrec(1) lists: any
 * other kills them. confined alone | threads | forks | threads,forks
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64

/* System calls of libc for memory, and to end. */
static const int own[] = { SYS_brk,       SYS_mmap,  SYS_munmap,    SYS_mprotect,
			   SYS_getrandom, SYS_write, SYS_exit_group };
static const int recorders[] = { SYS_rt_sigprocmask, SYS_futex, SYS_getpid, SYS_newfstatat };

static const int own_threads[] = { SYS_clone, SYS_clone3,         SYS_set_robust_list,
				   SYS_rseq,  SYS_rt_sigprocmask, SYS_rt_sigaction,
				   SYS_futex, SYS_madvise,        SYS_exit };
static const int recorders_threads[] = { SYS_gettid, SYS_mmap,    SYS_mprotect,
					 SYS_munmap, SYS_madvise, SYS_sched_yield };

static const int own_forks[] = { SYS_clone, SYS_set_robust_list, SYS_wait4 };
static const int recorders_forks[] = { SYS_gettid, SYS_mprotect, SYS_readlinkat };

static const int recorders_forks_of_threads[] = { SYS_membarrier };

#define ALLOW(filter, calls) allow(filter, calls, sizeof(calls) / sizeof((calls)[0]))

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void allow(struct sock_fprog *filter, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		filter->filter[filter->len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		filter->filter[filter->len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
}

static void confine(int threads, int forks)
{
	static struct sock_filter rules[2 * MOST];
	struct sock_fprog filter = { .filter = rules };

	rules[filter.len++] =
		(struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	ALLOW(&filter, own);
	ALLOW(&filter, recorders);
	if (threads) {
		ALLOW(&filter, own_threads);
		ALLOW(&filter, recorders_threads);
	}
	if (forks) {
		ALLOW(&filter, own_forks);
		ALLOW(&filter, recorders_forks);
	}
	/* glibc before 2.32 does not say whether there are threads. */
	if (forks && (threads || !__GLIBC_PREREQ(2, 32)))
		ALLOW(&filter, recorders_forks_of_threads);
	rules[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		fail("seccomp");
}

static void *churn(void *unused)
{
	for (int i = 0; i < 10000; i++) {
		void *volatile block = aligned_alloc(16, (size_t)(16 * (1 + i % 64)));

		free(block);
	}
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++) {
		if (pthread_create(&threads[i], NULL, churn, NULL) != 0)
			fail("pthread_create");
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

static void run_forks(void)
{
	for (int i = 0; i < 8; i++) {
		int status = 1;
		const pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		churn(NULL);
		if (pid == 0)
			_exit(0);
		if (waitpid(pid, &status, 0) != pid || status != 0)
			fail("child");
	}
}

int main(int argc, char **argv)
{
	const int threads = argc == 2 && strstr(argv[1], "threads"),
		  forks = argc == 2 && strstr(argv[1], "forks");

	confine(threads, forks);
	churn(NULL);
	if (threads)
		run_threads();
	if (forks)
		run_forks();
	if (write(1, "alive\n", 6) != 6)
		return 1;
	return 0;
}
