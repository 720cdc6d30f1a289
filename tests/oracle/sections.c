/* SPDX-License-Identifier: MIT */
/* Allocates in functions of sections of their own, in which Massif knows no lines and no inlined calls. */
#include <stdlib.h>

static void *volatile kept;

static inline __attribute__((always_inline)) void *take(size_t n)
{
	return malloc(n);
}

static inline __attribute__((always_inline)) void *take_twice(size_t n)
{
	return take(2 * n);
}

static __attribute__((section("own_code"), noinline)) void elsewhere(size_t n)
{
	kept = take(n);
}

static __attribute__((section(".text_of_its_own"), noinline)) void inlined_elsewhere(size_t n)
{
	kept = take_twice(n);
}

static __attribute__((section("own_frees"), noinline)) void let_go(void)
{
	free(kept);
}

int main(void)
{
	elsewhere(1000);
	inlined_elsewhere(2000);
	let_go();
	kept = take_twice(500);
	return 0;
}
