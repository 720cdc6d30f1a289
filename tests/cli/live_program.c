/* SPDX-License-Identifier: MIT */
/*
 * A program whose heap does what standard input says, a line at a time, each answered with "ok":
 *
 *     alloc N SIZE    N blocks that are kept, the newest last
 *     free N          the N newest
 *     oldest N        frees the N oldest
 *     realloc SIZE    of the newest block
 *     on, off         msrec_on(), msrec_off()
 *     fork            the child goes on with standard input, the parent waits for it
 *     threads N       N threads allocate, resize, pass on and free blocks until the end
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msrec.h"

#define BLOCKS 100000
#define SLOTS 64
#define THREADS 64

static void *blocks[BLOCKS];
static int first, n;
static void *_Atomic slots[SLOTS];
static _Atomic int stop;
static pthread_t threads[THREADS];
static int n_threads;

static void *work(void *argument)
{
	unsigned seed = (unsigned)(size_t)argument;

	while (!stop) {
		if (rand_r(&seed) % 8 == 0)
			usleep(100);
		void *_Atomic *slot = &slots[rand_r(&seed) % SLOTS];
		void *p = malloc((size_t)rand_r(&seed) % 500 + 1),
		     *old = __atomic_exchange_n((void **)slot, p, __ATOMIC_SEQ_CST);

		if (old && rand_r(&seed) % 4 == 0) {
			void *q = realloc(old, (size_t)rand_r(&seed) % 3000 + 1);

			free(__atomic_exchange_n((void **)slot, q, __ATOMIC_SEQ_CST));
		} else {
			free(old);
		}
	}
	return NULL;
}

static void obey(const char *word, int a, int b)
{
	if (strcmp(word, "alloc") == 0)
		for (int i = 0; i < a && n < BLOCKS; i++)
			blocks[n++] = malloc((size_t)b);
	else if (strcmp(word, "free") == 0)
		for (int i = 0; i < a && n > first; i++)
			free(blocks[--n]);
	else if (strcmp(word, "oldest") == 0)
		for (int i = 0; i < a && first < n; i++)
			free(blocks[first++]);
	else if (strcmp(word, "realloc") == 0)
		blocks[n - 1] = realloc(blocks[n - 1], (size_t)a);
	else if (strcmp(word, "threads") == 0)
		while (n_threads < a && n_threads < THREADS) {
			pthread_create(&threads[n_threads], NULL, work, (void *)(size_t)(n_threads + 1));
			n_threads++;
		}
	else if (strcmp(word, "on") == 0)
		msrec_on();
	else if (strcmp(word, "off") == 0)
		msrec_off();
	else if (strcmp(word, "fork") == 0) {
		const pid_t child = fork();

		if (child > 0) {
			waitpid(child, NULL, 0);
			_exit(0);
		}
	}
}

int main(void)
{
	char line[256], word[16];
	size_t size = 0;
	int a, b;

	/* Without stdio's buffers, which would be blocks, too. */
	while (read(0, line + size, 1) == 1) {
		if (line[size] != '\n') {
			size = size < sizeof(line) - 2 ? size + 1 : size;
			continue;
		}
		line[size] = 0;
		size = 0;
		a = b = 0;
		if (sscanf(line, "%15s %d %d", word, &a, &b) < 1)
			continue;
		obey(word, a, b);
		if (write(1, "ok\n", 3) != 3)
			return 1;
	}
	stop = 1;
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
