/* SPDX-License-Identifier: MIT */
/*
 * Nothing but malloc and free: loops DEPTH PAIRS THREADS [CHAINS]. The stack at each call has DEPTH frames of
 * this program; with CHAINS, the five innermost ones are those of one of CHAINS (at most 8) ways there,
 * taken at random. Prints pair= and the wall time of a pair in nanoseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int depth;
static long pairs;

static unsigned chains;

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

#define FRAME(name, next)                                                                                    \
	static __attribute__((noinline)) void name(long i)                                                   \
	{                                                                                                    \
		next(i);                                                                                     \
		__asm__ volatile("");                                                                        \
	}
#define CHAIN(n)                                                                                             \
	FRAME(chain_##n##_1, work_once)                                                                      \
	FRAME(chain_##n##_2, chain_##n##_1)                                                                  \
	FRAME(chain_##n##_3, chain_##n##_2)                                                                  \
	FRAME(chain_##n##_4, chain_##n##_3)                                                                  \
	FRAME(chain_##n##_5, chain_##n##_4)

CHAIN(0)
CHAIN(1)
CHAIN(2)
CHAIN(3)
CHAIN(4) CHAIN(5) CHAIN(6) CHAIN(7)

	static __attribute__((noinline)) void work_in_chains(void)
{
	static void (*const way[8])(long) = { chain_0_5, chain_1_5, chain_2_5, chain_3_5,
					      chain_4_5, chain_5_5, chain_6_5, chain_7_5 };
	uint64_t number = 1;

	for (long i = 0; i < pairs; i++) {
		number = number * 6364136223846793005u + 1442695040888963407u;
		way[(number >> 40) % chains](i);
	}
}

static __attribute__((noinline)) void descend(int n)
{
	if (n > 1)
		descend(n - 1);
	else if (chains)
		work_in_chains();
	else
		work();
	/* Keeps the call above from being a jump. */
	__asm__ volatile("");
}

static void *thread(void *unused)
{
	(void)unused;
	descend(chains ? depth - 7 : depth - 2);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec start, end;
	pthread_t threads[64];
	const int n = argc >= 4 ? atoi(argv[3]) : 0;

	chains = argc == 5 ? (unsigned)atoi(argv[4]) : 0;
	if (n < 1 || n > 64 || chains > 8)
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
