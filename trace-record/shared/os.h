/* SPDX-License-Identifier: MIT */
/*
 * All contact with the kernel and the clock, except for sigaction(), which libc must know of. Raw system calls touch neither
 * errno nor any lock; they may be made at any time, in any thread, and in a vfork child. Results are the kernel's:
 * a negative number is minus an errno value.
 */
#ifndef TRACE_RECORD_OS_H
#define TRACE_RECORD_OS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)
#include "cpu_x86_64.h"
#elif defined(__aarch64__)
#include "cpu_aarch64.h"
#else
#error "write shared/cpu_*.h for this processor"
#endif

#define PAGE ((uintptr_t)4096)

/*
 * Whether the eight bytes at `address` can be read; costs a system call. The kernel copies the signal set before it refuses
 * the invalid first argument, so nothing changes. At address 0 it would copy no set.
 */
static inline bool os_readable(uintptr_t address)
{
	return address != 0 && os_call6(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0) != -EFAULT;
}

/* Zeroed private memory, or NULL. */
void *os_map(uint64_t bytes);

/* A part of the file at `path` shared, with that protection and left out of core dumps; or NULL. */
void *os_map_shared(const char *path, uint64_t offset, uint64_t bytes, int protection);

/* Kernels lack the older calls on newer processors; where they are there, a seccomp filter may know them alone. */
static inline long os_open(const char *path, int flags)
{
#ifdef SYS_open
	return os_call6(SYS_open, (long)path, flags, 0, 0, 0, 0);
#else
	return os_call6(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
#endif
}

static inline long os_read_link(const char *path, char *to, size_t size)
{
#ifdef SYS_readlink
	return os_call6(SYS_readlink, (long)path, (long)to, (long)size, 0, 0, 0);
#else
	return os_call6(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, (long)size, 0, 0);
#endif
}

/* Sets what may be done with whole pages. */
static inline bool os_protect(void *start, uint64_t bytes, int protection)
{
	return os_call6(SYS_mprotect, (long)start, (long)bytes, protection, 0, 0, 0) == 0;
}

/* Memory that a forked child finds zeroed, or NULL where the kernel cannot do that. */
static inline void *os_map_wiped_on_fork(void)
{
	void *p = os_map(PAGE);

	if (p && os_call6(SYS_madvise, (long)p, PAGE, MADV_WIPEONFORK, 0, 0, 0) < 0) {
		os_call6(SYS_munmap, (long)p, PAGE, 0, 0, 0, 0);
		return NULL;
	}
	return p;
}

/* Memory that is mapped for the recorder, [start, end). */
struct os_range {
	uintptr_t start, end;
};

/* Remembers a range of the recorder's; the first 64 only, which cover what is mapped at the start. */
void os_own(uintptr_t start, uint64_t bytes);
void os_own_library(void);
bool os_is_own(uintptr_t address);
/* The first range of the recorder's that ends behind `address`; false: there is none. */
bool os_next_own(uintptr_t address, struct os_range *range);

/*
 * Copies the value that an environment variable had at the exec, from the kernel's copy, which is there before libc sets up
 * the environment. False: there is no such variable, or no room.
 */
bool os_initial_variable(const char *name, char *value, size_t size);

/* Reads the file at `path` up to `most` bytes. Returns how many; 0 also if the file cannot be read. */
uint32_t os_read_file(const char *path, char *bytes, uint32_t most);

/* Blocks the calling thread's signals; returns the mask for os_set_signals(). */
static inline uint64_t os_block_signals(void)
{
	const uint64_t all = ~UINT64_C(0);
	uint64_t mask = 0;

	os_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask, sizeof(all), 0, 0);
	return mask;
}

static inline void os_set_signals(uint64_t mask)
{
	os_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask), 0, 0);
}

/*
 * A spin lock for short times, held with signals blocked: a handler that came in between would wait for its own thread.
 * Returns the mask for os_unlock(). A forked child may inherit the lock from a thread that does not exist there, and must free it.
 */
uint64_t os_lock(_Atomic bool *lock);
void os_unlock(_Atomic bool *lock, uint64_t mask);

/*
 * Sleeps until *word is no longer `seen`, a wake-up, or `ms` have passed. Signals are blocked: callers count their sleeps, and
 * a program's timer would make these short.
 */
static inline void os_wait(_Atomic uint32_t *word, uint32_t seen, unsigned ms)
{
	const struct timespec timeout = { ms / 1000, (long)(ms % 1000) * 1000000 };
	const uint64_t mask = os_block_signals();

	os_call6(SYS_futex, (long)word, FUTEX_WAIT, seen, (long)&timeout, 0, 0);
	os_set_signals(mask);
}

static inline void os_wake(_Atomic uint32_t *word)
{
	os_call6(SYS_futex, (long)word, FUTEX_WAKE, 1, 0, 0, 0);
}

static inline void os_wake_all(_Atomic uint32_t *word)
{
	os_call6(SYS_futex, (long)word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

static inline uint32_t os_pid(void)
{
	return (uint32_t)os_call6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline uint32_t os_tid(void)
{
	return (uint32_t)os_call6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* The process's id in the namespace of /proc, which may be an outer one; 0: there is no /proc. */
uint32_t os_outer_pid(void);

/* The namespace of the process's id, the same number for all processes in it; 0: there is no /proc. */
uint64_t os_pid_space(void);

/* Bytes of address space that the process may have; UINT64_MAX: as many as there are. */
uint64_t os_address_space(void);

#define OS_DIGITS 10u /* of a number, at most */

/* Puts the number's decimal digits at `to`; returns where they end. */
static inline char *os_put_number(char *to, uint32_t number)
{
	char digits[OS_DIGITS];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n > 0)
		*to++ = digits[--n];
	return to;
}

/* The number of threads of this process that have not ended; 0: unknown. */
uint32_t os_threads(void);

/* Monotonic time, in ticks of the time-stamp counter (see cpu_clock()) or in ns. */
static inline uint64_t os_stamp(int use_tsc)
{
	struct timespec now;

	if (use_tsc)
		return cpu_clock();
	os_call6(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
