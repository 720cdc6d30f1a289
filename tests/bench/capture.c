/* SPDX-License-Identifier: MIT */
/*
 * The unwinder alone: capture CASE CAPTURES, to be timed or to have its instructions counted.
 *
 *     same DEPTH       the same stack again and again
 *     changing DEPTH   the five innermost frames are those of one of eight call chains, at random
 *
 * Prints the nanoseconds of a capture.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "modules.h"
#include "unwind.h"

#define CAPACITY 16384u

static struct unwind_stack *stack;
static long captures;
static char mode;

static uint64_t stamp(void)
{
	return 1;
}

#ifdef __clang__
#define FRAMED __attribute__((noinline))
#else
#define FRAMED __attribute__((noinline, optimize("no-omit-frame-pointer")))
#endif

static FRAMED void capture(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	const struct unwind_regs regs = { frame[1], (uintptr_t)(frame + 2), frame[0] };

	unwind_capture(stack, &regs);
	__asm__ volatile("");
}

static inline __attribute__((always_inline)) void capture_at(long i)
{
	(void)i;
	capture();
}

#define CHAINS_END capture_at
#include "chains.h"

static __attribute__((noinline)) void work(void)
{
	uint64_t number = 1;

	for (long i = 0; i < captures; i++) {
		number = chains_next(number);
		if (mode == 'c')
			chains[number >> 61](i);
		else
			capture();
	}
}

static __attribute__((noinline)) void descend(int n)
{
	if (n > 1)
		descend(n - 1);
	else
		work();
	__asm__ volatile("");
}

static void *map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int main(int argc, char **argv)
{
	struct module_table *table = map(module_table_bytes(256, 1 << 16));
	struct timespec start, end;

	if (argc != 4 || !strchr("sc", argv[1][0])) {
		fprintf(stderr, "usage: capture same|changing DEPTH CAPTURES\n");
		return 64;
	}
	mode = argv[1][0];
	captures = atol(argv[3]);
	table->capacity = 256;
	table->text_capacity = 1 << 16;
	modules_init(table, (modules_find_function *)dlsym(RTLD_DEFAULT, "_dl_find_object"), stamp);
	stack = unwind_stack_init(map(unwind_stack_bytes(CAPACITY)), CAPACITY, 256);
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* main() and work() are frames, too, and those of the chain. */
	descend(atoi(argv[2]) - (mode == 'c' ? 7 : 2));
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("capture=%.1f\n",
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (double)captures);
	return 0;
}
