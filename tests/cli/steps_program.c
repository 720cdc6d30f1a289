/* SPDX-License-Identifier: MIT */
/*
 * A thread called "loader" makes 200 blocks of 10,007 bytes at once in the middle of the run, and the first thread frees
 * the first 150 of them later. Prints the bytes that the allocator gave beyond what was asked for.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCKS 200
#define FREED 150
#define SIZE 10007

static void *blocks[BLOCKS];

static void wait_a_while(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
}

static void *load(void *argument)
{
	pthread_setname_np(pthread_self(), "loader");
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(SIZE);
	return argument;
}

int main(void)
{
	pthread_t loader;
	size_t slack = 0;
	wait_a_while();
	if (pthread_create(&loader, NULL, load, NULL) != 0 || pthread_join(loader, NULL) != 0)
		return 1;
	for (int i = 0; i < BLOCKS; i++)
		slack += malloc_usable_size(blocks[i]) - SIZE;
	wait_a_while();
	for (int i = 0; i < FREED; i++)
		free(blocks[i]);
	wait_a_while();
	return printf("%zu\n", slack) < 0;
}
