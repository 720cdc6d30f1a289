/* SPDX-License-Identifier: MIT */
#include "confinement.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "array.h"
#include "refusal.h"
#include "seccomp_filter.h"

#define FILTERS_MOST 256u /* of a thread */

/*
 * The calls of the recorder, of the loader that loads it, and of msrec's own code in the process (injected_call.c). The tests
 * attach to a program that is killed at any other call.
 */
static const struct needed_call {
	const char *name;
	struct filter_call call;
} needed[] = {
#define ANY(name)                                                                                            \
	{                                                                                                    \
#name,                                                                                       \
		{                                                                                            \
			SYS_##name, FILTER_NO_ARGUMENT, 0                                                    \
		}                                                                                            \
	}
#define PROTECTED(name, prot)                                                                                \
	{                                                                                                    \
#name,                                                                                       \
		{                                                                                            \
			SYS_##name, 2, (prot)                                                                \
		}                                                                                            \
	}
	ANY(memfd_create),
	PROTECTED(mmap, PROT_NONE),
	PROTECTED(mmap, PROT_READ),
	PROTECTED(mmap, PROT_READ | PROT_WRITE),
	PROTECTED(mmap, PROT_READ | PROT_EXEC),
	PROTECTED(mprotect, PROT_NONE),
	PROTECTED(mprotect, PROT_READ),
	PROTECTED(mprotect, PROT_READ | PROT_WRITE),
	PROTECTED(mprotect, PROT_READ | PROT_EXEC),
	PROTECTED(mprotect, PROT_READ | PROT_WRITE | PROT_EXEC),
	ANY(munmap),
	ANY(brk),
	ANY(madvise),
#ifdef SYS_open
	ANY(open),
#endif
#ifdef SYS_readlink
	ANY(readlink),
#endif
	ANY(openat),
	ANY(readlinkat),
	ANY(newfstatat),
	ANY(fstat),
	ANY(read),
	ANY(pread64),
	ANY(pwrite64),
	ANY(close),
	ANY(getcwd),
	ANY(getrandom),
	ANY(getpid),
	ANY(gettid),
	ANY(futex),
	ANY(rt_sigprocmask),
	ANY(rt_sigreturn),
	ANY(restart_syscall),
	ANY(sched_yield),
	ANY(membarrier),
	ANY(clock_gettime),
	ANY(prlimit64),
#undef ANY
#undef PROTECTED
};

/* SECCOMP_MODE_...; of a thread, by its id. */
static long mode_of(pid_t tid)
{
	const struct target thread = { .pid = tid, .memory = -1 };
	char *text = target_status(&thread, "Seccomp");
	const long mode = text ? strtol(text, NULL, 10) : 0;

	free(text);
	return mode;
}

/* A thread can be confined alone. */
bool confinement_exists(const struct target *target)
{
	char path[TARGET_PATH];
	const struct dirent *entry;
	bool exists = false;
	DIR *tasks;

	target_path(target, path, "task");
	tasks = opendir(path);
	while (tasks && !exists && (entry = readdir(tasks))) {
		const long tid = strtol(entry->d_name, NULL, 10);

		exists = tid > 0 && mode_of((pid_t)tid) != 0;
	}
	if (tasks)
		closedir(tasks);
	return exists;
}

/* ---- reading ---- */

static bool is_known(const struct confinement *c, const struct sock_filter *program, uint32_t n)
{
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->filters[i].n == n && memcmp(c->filters[i].program, program, n * sizeof(*program)) == 0)
			return true;
	}
	return false;
}

/* Returns the number of instructions; 0: the thread has fewer filters; -1 with errno. */
static long read_filter(pid_t tid, uint32_t index, struct sock_filter *to)
{
	const long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (long)index, NULL);

	if (n < 0)
		return errno == ENOENT ? 0 : -1;
	if (n > BPF_MAXINSNS) {
		errno = E2BIG;
		return -1;
	}
	return ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (long)index, to) == n ? n : -1;
}

static bool keep(struct confinement *c, const struct sock_filter *program, uint32_t n)
{
	struct sock_filter *copy;

	if (is_known(c, program, n))
		return true;
	copy = malloc(n * sizeof(*copy));
	if (!copy || !array_reserve(&c->filters, c->n, &c->room, sizeof(*c->filters))) {
		free(copy);
		errno = ENOMEM;
		return false;
	}
	memcpy(copy, program, n * sizeof(*copy));
	c->filters[c->n++] = (struct confinement_filter){ copy, n };
	return true;
}

static bool read_thread(struct confinement *c, pid_t tid)
{
	struct sock_filter program[BPF_MAXINSNS];
	long n;

	for (uint32_t i = 0; i < FILTERS_MOST; i++) {
		n = read_filter(tid, i, program);
		/* Either there is no filter, or the kernel shows none, or the mode is strict. */
		if (n < 0 && errno == EINVAL && i == 0)
			return mode_of(tid) == 0 || (errno = EOPNOTSUPP) == 0;
		if (n <= 0)
			return n == 0;
		if (!keep(c, program, (uint32_t)n))
			return false;
	}
	errno = E2BIG;
	return false;
}

/* A thread that ends meanwhile needs no filter. */
void confinement_read(struct confinement *c, const struct stopped_threads *threads)
{
	for (uint32_t i = 0; i < threads->n && !c->error_number; i++) {
		if (threads->items[i].stop == THREAD_STOPPED && !read_thread(c, threads->items[i].tid) &&
		    errno != ESRCH)
			c->error_number = errno;
	}
}

void confinement_finish(struct confinement *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->filters[i].program);
	free(c->filters);
	*c = (struct confinement){ 0 };
}

/* ---- judging ---- */

char *confinement_objection(const struct confinement *c)
{
	if (c->error_number == EACCES || c->error_number == EPERM)
		return refusal("has a seccomp filter, and only root outside of such filters may see what it "
			       "allows; run msrec as root, or start the program with msrec");
	if (c->error_number)
		return refusal("has a seccomp filter that cannot be read (%s); start it with msrec instead",
			       strerror(c->error_number));
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		for (uint32_t k = 0; k < c->n; k++) {
			if (!filter_allows(c->filters[k].program, c->filters[k].n, &needed[i].call))
				return refusal("has a seccomp filter that does not allow %s, which the "
					       "recorder needs; start it with msrec instead (msrec(1) "
					       "lists the calls)",
					       needed[i].name);
		}
	}
	return NULL;
}
