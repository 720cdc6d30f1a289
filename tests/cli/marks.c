/* SPDX-License-Identifier: MIT */
/*
 * A program that marks what it has live, for marks.py:
 *
 *   marks threads [KILL]      four threads with 300 rounds each; a mark "t THREAD live BYTES" tells what the thread has live.
 *                             With a word more the process then kills itself
 *   marks phases              three phases of one thread, marked "build", "serve" and "serve"; prints what is live at each
 *   marks fork                "before" in the parent, then "parent" or "child"
 *   marks signal              50 marks "handler" out of a signal handler that interrupts malloc and free
 *   marks hostile             names that are empty, too long, not UTF-8, full of control characters, or NULL
 *   marks sleep               an allocation each ms for 200 ms, kept
 *   marks naps                sleeps 100 ms, forks, and both allocate each ms for 100 ms
 *   marks many N              N marks, with an allocation before each
 */
#include "msrec.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 300
#define BLOCKS 64

static void *run_thread(void *number)
{
	const int thread = *(const int *)number;
	void *blocks[BLOCKS] = { NULL };
	size_t sizes[BLOCKS] = { 0 }, live = 0;
	unsigned random = 17u * (unsigned)thread + 1;

	for (int round = 0; round < ROUNDS; round++) {
		char name[64];

		for (int i = 0; i < 5; i++) {
			const unsigned at = (random = random * 1103515245u + 12345u) >> 16 & (BLOCKS - 1);

			free(blocks[at]);
			live -= sizes[at];
			sizes[at] = 16 + at * 8 + (unsigned)thread;
			blocks[at] = malloc(sizes[at]);
			live += sizes[at];
		}
		snprintf(name, sizeof(name), "t %d live %zu", thread, live);
		errno = 4711;
		msrec_mark(name);
		if (errno != 4711)
			abort();
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, run_thread, &numbers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static char *kept[3000];

/* Blocks [from, until) of 100 bytes and more come; what they add to what is live. */
static size_t build(int from, int until)
{
	size_t bytes = 0;

	for (int i = from; i < until; i++) {
		kept[i] = malloc(100u + (unsigned)i % 7);
		bytes += 100u + (unsigned)i % 7;
	}
	return bytes;
}

static size_t drop(int from, int until)
{
	size_t bytes = 0;

	for (int i = from; i < until; i++) {
		free(kept[i]);
		bytes += 100u + (unsigned)i % 7;
	}
	return bytes;
}

static void run_phases(void)
{
	size_t live = build(0, 1000), at[3];

	at[0] = live;
	msrec_mark("build");
	live += build(1000, 3000);
	live -= drop(500, 2500);
	at[1] = live;
	msrec_mark("serve");
	live -= drop(2500, 2600);
	at[2] = live;
	msrec_mark("serve");
	drop(0, 500);
	drop(2600, 3000);
	printf("%zu %zu %zu\n", at[0], at[1], at[2]);
}

static void run_fork(void)
{
	void *volatile block = malloc(1000);
	pid_t child;

	msrec_mark("before");
	child = fork();
	free(block);
	msrec_mark(child ? "parent" : "child");
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static volatile int signals;

static void handler(int number)
{
	(void)number;
	if (signals++ < 50)
		msrec_mark("handler");
}

static void run_signal(void)
{
	const struct itimerval soon = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (unsigned i = 0; signals < 50; i++) {
		void *volatile block = malloc(i % 1000 + 1);
		free(block);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

static void run_hostile(void)
{
	char name[5000];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	msrec_mark("");
	msrec_mark(name);
	msrec_mark("\xff\xfe/../\"<script>&\n\033[31m\\");
	msrec_mark("\xe2\x80\xae"
		   "bidi");
	msrec_mark(NULL);
	msrec_mark("end");
	msrec_mark("peak");
	msrec_mark("a#2");
	msrec_mark("a");
	msrec_mark("a");
}

static void run_sleep(int n)
{
	for (int i = 0; i < n; i++) {
		usleep(1000);
		kept[i] = malloc(100);
	}
}

static void run_naps(void)
{
	run_sleep(100);
	const pid_t child = fork();
	run_sleep(100);
	if (child)
		waitpid(child, NULL, 0);
}

static void run_many(long n)
{
	for (long i = 0; i < n; i++) {
		void *volatile block = malloc(8);
		msrec_mark("one of many");
		free(block);
	}
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "threads") == 0)
		run_threads();
	else if (strcmp(what, "phases") == 0)
		run_phases();
	else if (strcmp(what, "fork") == 0)
		run_fork();
	else if (strcmp(what, "signal") == 0)
		run_signal();
	else if (strcmp(what, "hostile") == 0)
		run_hostile();
	else if (strcmp(what, "sleep") == 0)
		run_sleep(200);
	else if (strcmp(what, "naps") == 0)
		run_naps();
	else if (strcmp(what, "many") == 0 && argc > 2)
		run_many(atol(argv[2]));
	if (argc > 2 && strcmp(argv[2], "KILL") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}
