/* SPDX-License-Identifier: MIT */
/* What the recorder and msrec need of the processor, as cpu_x86_64.h has it for that one. */
#ifndef TRACE_RECORD_CPU_AARCH64_H
#define TRACE_RECORD_CPU_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_MACHINE 183 /* EM_AARCH64 */
#define CPU_PATCHES_CODE false

/* A system call; the kernel's result: a negative number is minus an errno value. */
static inline long os_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/* Of the calling thread. */
static inline uintptr_t cpu_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* In a loop that waits for another thread. */
static inline void cpu_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/*
 * The generic timer's counter, read after everything before it in the program has happened. Without the first barrier loads
 * before it, such as the one that has got a lock, might still wait; without the second the counter might be read ahead of
 * the first. The counter may stand still for 40 ns, in which a block can change threads. So the function returns when the
 * counter has moved on: what any thread does because of what follows has a greater stamp.
 */
static inline uint64_t cpu_clock(void)
{
	uint64_t now, later;

	__asm__ volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(now)::"memory");
	do
		__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(later)::"memory");
	while (later == now);
	return now;
}

/* The same in any order with what is around it. */
static inline uint64_t cpu_clock_unordered(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

/* Whether the clock runs at one rate on all CPUs: the architecture says so. */
static inline bool cpu_clock_is_steady(void)
{
	return true;
}

/*
 * Whether the program runs under Valgrind, which takes this sequence of rotations, without effect on a processor, for
 * request 0x1001: how deep is it nested?
 */
static inline bool cpu_under_valgrind(void)
{
	const uint64_t request[6] = { 0x1001 };
	register uint64_t answer __asm__("x3") = 0;
	register const uint64_t *asked __asm__("x4") = request;

	__asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(answer)
			 : "r"(asked)
			 : "cc", "memory");
	return answer != 0;
}

/*
 * Whether a performance counter's register can be read in user mode. The kernel lets only events that ask for it in a way of
 * their own be read so, and those of the recorder do not ask.
 */
#define CPU_READS_COUNTERS false

static inline uint64_t cpu_read_counter(uint32_t index)
{
	(void)index;
	return 0;
}

#endif
