/* SPDX-License-Identifier: MIT */
/*
 * fragments pins|arenas: memory that doesn't come back, for two reasons.
 *
 *   pins     40,000 lines of a file come, and for every 16th an entry of a cache between them; the lines go
 *   arenas   eight threads, one after the other, use 8 MiB each for a while, and keep a block at the end of it
 *
 * At the end it prints the bytes of private memory that are resident.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 40000, ENTRY_EVERY = 16, THREADS = 8, BLOCKS = 16384 };

static void *lines[LINES], *entries[LINES / ENTRY_EVERY], *results[THREADS];
static sem_t turn[THREADS], over, done;

static void *read_line(void)
{
	return memset(malloc(1000), 1, 1000);
}

static void *cache_insert(void)
{
	return memset(malloc(48), 2, 48);
}

static void pins(void)
{
	for (int i = 0; i < LINES; i++) {
		lines[i] = read_line();
		if (i % ENTRY_EVERY == 0)
			entries[i / ENTRY_EVERY] = cache_insert();
	}
	for (int i = 0; i < LINES; i++)
		free(lines[i]);
}

static void *work(void *number)
{
	const int own = (int)(long)number;
	void **blocks;

	sem_wait(&turn[own]);
	blocks = malloc(BLOCKS * sizeof(*blocks));
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(512), 3, 512);
	results[own] = memset(malloc(512), 4, 512);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	free(blocks);
	sem_post(&done);
	sem_wait(&over);
	return NULL;
}

static void arenas(void)
{
	static pthread_t threads[THREADS];

	sem_init(&over, 0, 0);
	sem_init(&done, 0, 0);
	for (long i = 0; i < THREADS; i++) {
		sem_init(&turn[i], 0, 0);
		pthread_create(&threads[i], NULL, work, (void *)i);
	}
	for (int i = 0; i < THREADS; i++) {
		sem_post(&turn[i]);
		sem_wait(&done);
	}
}

/* The streams' buffers come last, so they aren't in the figure. */
static void print_resident(void)
{
	static char text[4096];
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	const size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *line = n ? strstr(text, "\nAnonymous:") : NULL;

	printf("%llu\n", line ? strtoull(line + 11, NULL, 10) * 1024 : 0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "arenas") == 0)
		arenas();
	else
		pins();
	print_resident();
	return 0;
}
