/* SPDX-License-Identifier: MIT */
/*
 * Deep stacks whose outer frames change in every way that leaves the inner ones where they are: functions of one
 * frame size call each other in a random order, up and down between 1 and 300 frames, some with room on
 * the stack that varies, some left by longjmp. From anywhere they dive: as many equal frames deeper as the engine
 * always walks, so that only memory further out distinguishes the stacks of two callers. deep_walk SEED STEPS
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#define DEEPEST 300
#define DIVE 100 /* more than the frames that the engine always walks */
#define BLOCKS 64

static uint64_t state;
static long steps;
static void *blocks[BLOCKS];
static jmp_buf start;

static unsigned choose(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static __attribute__((noinline)) void turn_over(void)
{
	const unsigned i = choose(BLOCKS);

	free(blocks[i]);
	blocks[i] = malloc(choose(200) + 1);
}

/* One frame more, so that another function is that number of frames further out. */
static __attribute__((noinline)) void turn_over_within(void)
{
	turn_over();
	__asm__ volatile("");
}

/* Allocates only after that many more calls. */
static __attribute__((noinline)) void dive(unsigned frames)
{
	if (frames)
		dive(frames - 1);
	else
		turn_over();
	__asm__ volatile("");
}

static void wander(unsigned depth);

#define WANDERER(name)                                                                                       \
	static __attribute__((noinline)) void name(unsigned depth)                                           \
	{                                                                                                    \
		wander(depth);                                                                               \
		__asm__ volatile("");                                                                        \
	}

WANDERER(first)
WANDERER(second)
WANDERER(third)

static __attribute__((noinline)) void with_room(unsigned depth)
{
	volatile char *room = alloca(16 * (choose(4) + 1));

	room[0] = 1;
	wander(depth);
	room[0] = 2;
}

static void (*const ways[])(unsigned) = { first, second, third,  first, second,
					  third, first,  second, third, with_room };

/* Stays at a depth for a while, or goes deeper, one frame or many. */
static __attribute__((noinline)) void wander(unsigned depth)
{
	volatile unsigned turns = choose(6);

	for (; turns > 0 && steps > 0; turns--) {
		steps--;
		if (choose(4) == 0)
			dive(DIVE);
		else if (choose(2))
			turn_over();
		else
			turn_over_within();
		if (depth < DEEPEST && choose(8) > 2)
			ways[choose(10)](depth + 2);
		if (depth > 120 && choose(10) == 0)
			longjmp(start, 1);
	}
	if (depth < 170 && steps > 0)
		ways[choose(10)](depth + 2);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 10);
	steps = strtol(argv[2], NULL, 10);
	setjmp(start);
	while (steps > 0)
		ways[choose(10)](2);
	return 0;
}
