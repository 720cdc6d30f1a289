/* SPDX-License-Identifier: MIT */
/*
 * Many stacks: many_stacks DESCENTS. Each descent is a recursion of about 28 frames through four functions, along one
 * of 4,096 paths at random. Paths differ from the outermost frames on, so they share hardly a node. At its end stand
 * eight pairs of malloc and free at three places: some 12,000 stacks. Prints pair= and the wall time of a pair in
 * nanoseconds, descent included.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PATHS 4096u
#define PAIRS 8
#define NOINLINE __attribute__((noinline))

static inline uint64_t mixed(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

static inline __attribute__((always_inline)) void pair(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

static NOINLINE void end_a(void)
{
	pair(16);
	__asm__ volatile("" : : "i"(1));
}

static NOINLINE void end_b(void)
{
	pair(32);
	__asm__ volatile("" : : "i"(2));
}

static NOINLINE void end_c(void)
{
	pair(64);
	__asm__ volatile("" : : "i"(3));
}

static void (*const ends[])(void) = { end_a, end_b, end_c, end_a, end_b, end_a, end_c, end_b };

static void descend(uint64_t path, unsigned left);

/* Frames of four sizes: where a frame lies depends on its path, too. */
#define FRAME(name, words)                                                                                   \
	static NOINLINE void name(uint64_t path, unsigned left)                                              \
	{                                                                                                    \
		volatile uint64_t room[words];                                                               \
                                                                                                             \
		room[0] = path;                                                                              \
		descend(room[0], left);                                                                      \
		__asm__ volatile("" : : "i"(words));                                                         \
	}
FRAME(frame_a, 1)
FRAME(frame_b, 3)
FRAME(frame_c, 5)
FRAME(frame_d, 7)

static void (*const frames[])(uint64_t, unsigned) = { frame_a, frame_b, frame_c, frame_d };

static inline __attribute__((always_inline)) void descend(uint64_t path, unsigned left)
{
	if (left > 0) {
		frames[mixed(path + (uint64_t)left * PATHS) >> 40 & 3](path, left - 1);
		return;
	}
	for (unsigned i = 0; i < PAIRS; i++)
		ends[i]();
}

int main(int argc, char **argv)
{
	const long descents = argc == 2 ? atol(argv[1]) : 0;
	struct timespec start, end;
	uint64_t number = 1;

	if (descents <= 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < descents; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		descend(number >> 40 & (PATHS - 1), 22 + (unsigned)(number >> 40 & 7));
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("pair=%.1f\n",
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (double)(descents * PAIRS));
	return 0;
}
