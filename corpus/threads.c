/* SPDX-License-Identifier: MIT */
/*
 * Four threads, one after the other (each is joined before the next starts), so the order of events
 * is the program's own. The stacks end in the threads' start functions.
 *
 * Known answer: a thread makes twelve blocks, frees ten, leaves one and hands one over to be freed; libc
 * takes one block for the thread-local storage of the one thread stack, which is used again.
 */
#include <pthread.h>
#include <stdlib.h>

static __thread void *mine;
static void *volatile keep;

static void *make(size_t n)
{
	return malloc(n);
}

static void *work(void *argument)
{
	size_t n = *(size_t *)argument;

	mine = make(n * 256);
	keep = make(n * 32);
	for (size_t i = 1; i <= 10; i++) {
		void *volatile block = make(i * 32);

		free(block);
	}
	return mine;
}

int main(void)
{
	for (size_t n = 1; n <= 4; n++) {
		pthread_t thread;
		void *handed_over;

		if (pthread_create(&thread, NULL, work, &n))
			return 1;
		pthread_join(thread, &handed_over);
		free(handed_over);
	}
	return 0;
}
