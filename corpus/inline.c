/* SPDX-License-Identifier: MIT */
/*
 * Always-inline chains of one to three calls inside real functions: one address, several lines.
 * Built without and with optimisation.
 *
 * Known answer: 8 * (400 + 300 + 200 + 100) bytes; three inlined levels under real3.
 */
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

static void *volatile keep;

INLINE void level1(size_t n)
{
	keep = malloc(n);
}

INLINE void level2(size_t n)
{
	level1(n + 1);
	keep = malloc(n);
}

INLINE void level3(size_t n)
{
	level2(n);
}

NOINLINE void real1(size_t n)
{
	level1(n);
	keep = NULL;
}

NOINLINE void real2(size_t n)
{
	level2(n);
	keep = NULL;
}

NOINLINE void real3(size_t n)
{
	level3(n);
	keep = NULL;
}

int main(void)
{
	for (size_t i = 0; i < 8; i++) {
		real1(100);
		real2(200);
		real3(300);
		level3(400);
	}
	return 0;
}
