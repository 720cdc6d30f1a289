/* SPDX-License-Identifier: MIT */
/*
 * whatif_program all|turns ROUNDS: calls of every function that gives a block, for a player to repeat. All of each block
 * is used, as players do.
 *
 *   all ROUNDS     one thread, all functions
 *   turns ROUNDS   four threads at a time, two such groups one after the other; blocks also go in a thread that hasn't
 *                  allocated them
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 300, THREADS = 4 };

static void *shared[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *allocate(unsigned how, size_t size)
{
	void *block = NULL;

	switch (how) {
	case 0:
		return calloc(3, size / 3 + 1);
	case 1:
		return memalign(64, size);
	case 2:
		return posix_memalign(&block, 256, size) == 0 ? block : NULL;
	case 3:
		return aligned_alloc(32, (size + 31) / 32 * 32);
	case 4:
		return valloc(size);
	case 5:
		return realloc(NULL, size);
	default:
		return malloc(size);
	}
}

static void step(void **blocks, unsigned *seed)
{
	const unsigned slot = (unsigned)rand_r(seed) % SLOTS, how = (unsigned)rand_r(seed) % 20;
	const size_t size = (size_t)rand_r(seed) % (how == 19 ? 300000 : 900);

	if (blocks[slot] && how > 14) {
		void *grown = realloc(blocks[slot], size + 1);

		blocks[slot] = grown ? grown : blocks[slot];
	} else {
		free(blocks[slot]);
		blocks[slot] = allocate(how, size);
	}
	if (blocks[slot])
		memset(blocks[slot], 1, size);
}

static void *work(void *argument)
{
	unsigned seed = (unsigned)(size_t)argument;

	for (size_t i = 0; i < (size_t)argument >> 8; i++) {
		pthread_mutex_lock(&lock);
		step(shared, &seed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void turns(size_t rounds)
{
	pthread_t threads[THREADS];

	for (size_t group = 0; group < 2; group++) {
		for (size_t i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work,
				       (void *)(rounds << 8 | (group * THREADS + i + 1)));
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv)
{
	const size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	unsigned seed = 1;

	if (argc > 1 && strcmp(argv[1], "turns") == 0)
		turns(rounds);
	else
		for (size_t i = 0; i < rounds; i++)
			step(shared, &seed);
	return 0;
}
