/* SPDX-License-Identifier: MIT */
/* What the recorder and msrec need of the processor: a port to another one writes a file like this. */
#ifndef TRACE_RECORD_CPU_X86_64_H
#define TRACE_RECORD_CPU_X86_64_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#define CPU_MACHINE 62 /* EM_X86_64 */

/* Whether msrec can put jumps into the code of programs: for --pid, --pages and allocators that are linked into them. */
#define CPU_PATCHES_CODE true

/* A system call; the kernel's result: a negative number is minus an errno value. */
static inline long os_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Of the calling thread. */
static inline uintptr_t cpu_thread_pointer(void)
{
#if !defined(__clang__) && __GNUC__ < 11 /* which has the function for other processors */
	uintptr_t tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* In a loop that waits for another thread. */
static inline void cpu_pause(void)
{
	_mm_pause();
}

/*
 * The time-stamp counter, read after everything before it in the program has happened. A plain RDTSC may run ahead
 * of a locked instruction that waits for another CPU; then a block that changes threads gets stamps in the
 * wrong order.
 */
static inline uint64_t cpu_clock(void)
{
	unsigned cpu;

	return __rdtscp(&cpu);
}

/* The same in any order with what is around it. */
static inline uint64_t cpu_clock_unordered(void)
{
	return __rdtsc();
}

/* Whether the clock runs at one rate on all CPUs: the counter is invariant, and there is rdtscp, which cpu_clock() has. */
static inline bool cpu_clock_is_steady(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) &&
	       __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & 1u << 27);
}

/*
 * Whether the program runs under Valgrind, which takes this sequence of rotations, without effect on a processor, for
 * request 0x1001: how deep is it nested?
 */
static inline bool cpu_under_valgrind(void)
{
	const uint64_t request[6] = { 0x1001 };
	uint64_t answer = 0;

	__asm__ volatile(
		"rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
		: "+d"(answer)
		: "a"(request)
		: "cc", "memory");
	return answer != 0;
}

/* A performance counter, as perf_event_mmap_page numbers it; where its register can be read in user mode. */
#define CPU_READS_COUNTERS true

static inline uint64_t cpu_read_counter(uint32_t index)
{
	return (uint64_t)__rdpmc((int)index);
}

#endif
