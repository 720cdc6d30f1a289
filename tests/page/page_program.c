/* SPDX-License-Identifier: MIT */
/*
 * A program with something for each view of the page: threads that free each other's blocks, a slow leak, a cache, steps
 * that come back, reallocs that copy, temporary blocks, wrong calls. It runs for about a second and a half.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 150
#define QUEUE 4000

static void *volatile kept[16384];
static void *queue[QUEUE];
static size_t n_kept, n_queued;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;

static void wait_ms(long ms)
{
	struct timespec time = { 0, ms * 1000000 };
	nanosleep(&time, NULL);
}

/* An allocator by its name, hence no site of its own. */
static void *xmalloc(size_t size)
{
	void *block = malloc(size);
	memset(block, 1, size);
	return block;
}

static void leak_slowly(int round)
{
	kept[n_kept++] = xmalloc(512 + (size_t)round % 7);
}

static void remember(int round)
{
	static void *cache[40];
	void **place = &cache[round % 40];
	free(*place);
	*place = xmalloc(3000 + 13 * (size_t)(round % 40));
}

static void churn(int round)
{
	for (int i = 0; i < 200; i++)
		free(xmalloc(16 + (size_t)((round * 31 + i * 17) % 400)));
}

static void step(int round)
{
	static void *blocks[64];
	if (round != ROUNDS / 3 && round != ROUNDS / 2)
		return;
	for (int i = 0; i < 64; i++) {
		free(blocks[i]);
		blocks[i] = round == ROUNDS / 3 ? xmalloc(20000) : NULL;
	}
}

static void grow_text(int round)
{
	static char *text;
	static size_t length;
	if (round % 3 == 0)
		text = realloc(text, length += 700);
	if (length > 20000) {
		free(text);
		text = NULL;
		length = 0;
	}
}

static int recurse(int depth, int round)
{
	if (depth == 0) {
		free(xmalloc(100 + (size_t)round));
		return 0;
	}
	return 1 + recurse(depth - 1, round);
}

static void *produce(void *number)
{
	const size_t size = 64 * (1 + (size_t)number);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < 20 && n_queued < QUEUE; i++)
			queue[n_queued++] = xmalloc(size + (size_t)i);
		pthread_mutex_unlock(&lock);
		wait_ms(7);
	}
	return NULL;
}

static void *consume(void *unused)
{
	for (int more = 1; more; wait_ms(31)) {
		pthread_mutex_lock(&lock);
		more = !done;
		while (n_queued)
			free(queue[--n_queued]);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void go_wrong(void)
{
	void *volatile block = malloc(0);
	const volatile size_t huge = (size_t)1 << 62;
	free(block);
	kept[n_kept++] = malloc(huge);
}

int main(void)
{
	pthread_t threads[3];
	for (size_t i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, produce, (void *)i);
		pthread_setname_np(threads[i], i ? "producer two" : "producer one");
	}
	pthread_create(&threads[2], NULL, consume, NULL);
	pthread_setname_np(threads[2], "consumer");
	for (int round = 0; round < ROUNDS; round++) {
		leak_slowly(round);
		remember(round);
		churn(round);
		step(round);
		grow_text(round);
		recurse(round % 5, round);
		wait_ms(8);
	}
	go_wrong();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	done = 1;
	pthread_join(threads[2], NULL);
	return 0;
}
