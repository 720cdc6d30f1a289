/* SPDX-License-Identifier: MIT */
/*
 * thread_ends_program return|_exit|exec|kill|fork: threads that end, or don't. Sizes of blocks say where a call was made:
 *
 *   1000  by a thread that ends at once; 1001 by main when it has joined that
 *   2000  by a thread that then sleeps; 2001 by main meanwhile; 2002 by main when it has joined that thread
 *   3000  by a thread that never ends
 *   4000  by a thread that main joins just before the process ends; 4001 by main, or by the forked child, behind that
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void call(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

static void *ends(void *size)
{
	call((size_t)size);
	return NULL;
}

static void *sleeps(void *size)
{
	call((size_t)size);
	pthread_barrier_wait(&barrier);
	usleep(200000);
	return NULL;
}

static void *stays(void *size)
{
	call((size_t)size);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

static void run(void *(*function)(void *), size_t size)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, (void *)size) != 0)
		abort();
	if (function != ends)
		pthread_barrier_wait(&barrier);
	if (function == sleeps)
		call(size + 1);
	if (function == stays)
		return;
	pthread_join(thread, NULL);
	call(function == sleeps ? size + 2 : size + 1);
}

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "return";

	pthread_barrier_init(&barrier, NULL, 2);
	run(ends, 1000);
	run(sleeps, 2000);
	run(stays, 3000);
	if (strcmp(end, "kill") == 0) {
		usleep(200000);
		raise(SIGKILL);
	}
	run(ends, 4000);
	if (strcmp(end, "exec") == 0)
		execl("/bin/true", "true", (char *)NULL);
	if (strcmp(end, "fork") == 0 && fork() == 0) {
		call(4002);
		_exit(0);
	}
	while (strcmp(end, "fork") == 0 && wait(NULL) > 0)
		;
	if (strcmp(end, "_exit") == 0)
		_exit(0);
	return 0;
}
