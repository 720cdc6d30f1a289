/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate blocks of many sizes at once, fill them, and free each other's: sharing PAIRS THREADS.
 * Prints pair= and the wall time of a pair in nanoseconds.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PLACES 4096u

static void *_Atomic places[PLACES];
static long pairs;

static __attribute__((noinline)) void *make(uint64_t number)
{
	const size_t size = 16 + (number >> 33) % 496;

	return memset(malloc(size), (int)number, size);
}

static __attribute__((noinline)) void exchange(uint64_t number)
{
	free(atomic_exchange(&places[number >> 52 & (PLACES - 1)], make(number)));
}

static void *thread(void *seed)
{
	uint64_t number = (uintptr_t)seed;

	for (long i = 0; i < pairs; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		exchange(number);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int n = argc == 3 ? atoi(argv[2]) : 0;
	struct timespec start, end;
	pthread_t threads[64];

	if (n < 1 || n > 64)
		return 1;
	pairs = atol(argv[1]);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("pair=%.1f\n",
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (double)(pairs * n));
	return 0;
}
