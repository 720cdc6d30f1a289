/* SPDX-License-Identifier: MIT */
/*
 * Asking the kernel without the C library: no errno, no cancellation point, no lock; any thread,
 * any time.
 */
#ifndef MSREC_PROBE_H
#define MSREC_PROBE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long probe_syscall(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

/* Whether the eight bytes at `address` can be read. The kernel copies the signal set before it
 * refuses the nonsense in the first argument, so nothing is changed. Costs a system call. */
static inline bool probe_readable(uintptr_t address)
{
	return probe_syscall(SYS_rt_sigprocmask, -1, (long)address, 0, 8) != -EFAULT;
}

#endif
