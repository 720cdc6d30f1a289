/* SPDX-License-Identifier: MIT */
/*
 * Calls of the allocator at a depth that the program itself measures and prints: LEVELS frames of
 * 100000 bytes deep, in the main thread or another, by malloc or by a free alone, or no call at all but
 * a fifth of a second of work. Back at the start it calls
 * malloc again, so that memusage of glibc 2.35 to 2.39, which measures upside down, finds the same depth.
 *
 *   stack_depth malloc|free|thread|work LEVELS
 *
 * Known answer: the printed depth, give or take a page.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *volatile block;
static uintptr_t start, deepest;
static int levels;
static int only_free, only_work;

static void spend(void)
{
	const clock_t end = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < end)
		;
}

static void down(int left)
{
	volatile char frame[100000];

	frame[0] = (char)left;
	if (left > 1) {
		down(left - 1);
		return;
	}
	deepest = (uintptr_t)__builtin_frame_address(0) - sizeof(frame);
	if (only_work) {
		spend();
		return;
	}
	if (!only_free)
		block = malloc(100);
	free(block);
	block = NULL;
}

static void *work(void *unused)
{
	start = (uintptr_t)__builtin_frame_address(0);
	block = malloc(10);
	if (!only_free)
		free(block);
	if (levels)
		down(levels);
	free(malloc(20));
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 1;
	only_work = strcmp(argv[1], "work") == 0;
	only_free = strcmp(argv[1], "free") == 0;
	levels = atoi(argv[2]);
	if (strcmp(argv[1], "thread") == 0) {
		if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
			return 1;
	} else {
		work(NULL);
	}
	printf("%zu\n", deepest ? (size_t)(start - deepest) : 0);
	return 0;
}
