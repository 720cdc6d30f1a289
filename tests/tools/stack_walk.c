/* SPDX-License-Identifier: MIT */
/*
 * A program without libraries that only grows and shrinks its stack, so seldom that Massif's at most 1000 snapshots
 * can show each step: stacks_oracle.py.
 */
#define CALLS 45
#define SYS_exit 60

static volatile unsigned seed = 12345;

static unsigned next(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 16 & 0x7fff;
}

static void walk(unsigned levels, unsigned bytes)
{
	volatile char *place = __builtin_alloca(bytes + 1);

	place[bytes] = (char)levels;
	if (levels > 0)
		walk(levels - 1, bytes / 2);
}

__attribute__((used, noreturn)) void run(void);

void run(void)
{
	for (unsigned i = 0; i < CALLS; i++)
		walk(i % 4, next() >> (i % 7));
	__asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__asm__(".globl _start\n_start:\n\tcall run\n");
