/* SPDX-License-Identifier: MIT */
/*
 * Nothing but malloc and free: loops DEPTH PAIRS THREADS [CHAINS]. The stack at each call has DEPTH frames of
 * this program; with CHAINS, the five innermost ones are those of one of CHAINS (at most 8) call chains,
 * at random. Prints pair= and the wall time of a pair in nanoseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int depth;
static long pairs;

static unsigned n_chains;

static inline __attribute__((always_inline)) void work_once(long i)
{
	void *volatile block = malloc((size_t)(i & 127) + 1);

	free(block);
}

static __attribute__((noinline)) void work(void)
{
	for (long i = 0; i < pairs; i++)
		work_once(i);
}

#define CHAINS_END work_once
#include "chains.h"

static __attribute__((noinline)) void work_in_chains(void)
{
	uint64_t number = 1;

	for (long i = 0; i < pairs; i++) {
		number = chains_next(number);
		chains[(number >> 40) % n_chains](i);
	}
}

static __attribute__((noinline)) void descend(int n)
{
	if (n > 1)
		descend(n - 1);
	else if (n_chains)
		work_in_chains();
	else
		work();
	/* Prevents a tail call. */
	__asm__ volatile("");
}

static void *thread(void *unused)
{
	(void)unused;
	descend(n_chains ? depth - 7 : depth - 2);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec start, end;
	pthread_t threads[64];
	const int n = argc >= 4 ? atoi(argv[3]) : 0;

	n_chains = argc == 5 ? (unsigned)atoi(argv[4]) : 0;
	if (n < 1 || n > 64 || n_chains > 8)
		return 1;
	depth = atoi(argv[1]);
	pairs = atol(argv[2]);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 1; i < n; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	thread(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("pair=%.1f\n",
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (double)(pairs * n));
	return 0;
}
