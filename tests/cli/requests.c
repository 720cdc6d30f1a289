/* SPDX-License-Identifier: MIT */
/*
 * A program of requests that is C89 and C++98 at once, for msrec_h.py, which compiles it in every way:
 *
 *   requests                  the requests of this program
 *   requests dl FILE          those of a library, made of this file too, opened at run time
 *   requests threads          four threads with 5000 blocks each, each of which another frees
 *   requests fork             200 blocks, half of which go in a child
 *
 * Prints whether it is being recorded. Given out: 3 blocks of 1000 to 1002 bytes at one address, of which one
 * is resized.
 */
#include "msrec.h"

#include <stdio.h>
#include <string.h>
#ifndef STATIC
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#define THREADS 4
#define BLOCKS 5000

#ifdef __cplusplus
extern "C" {
#endif
int request_work(int times);
#ifdef __cplusplus
}
#endif

static char memory[THREADS * BLOCKS];

/* The request comes last: the compiler must not make a jump of it. */
__attribute__((noinline)) static void give_out(void *block, unsigned long size)
{
	MSREC_MALLOCLIKE(block, size);
}

__attribute__((noinline)) static void take_back(void *block)
{
	MSREC_FREELIKE(block);
}

__attribute__((noinline)) static void resize(void *block, unsigned long old_size, unsigned long size)
{
	MSREC_RESIZEINPLACE(block, old_size, size);
}

__attribute__((noinline)) int request_work(int times)
{
	int i = 0, evaluated = 0;

	while (i < times)
		give_out(memory, 1000 + (unsigned long)i++);
	resize(memory, 1002, 2000);
	take_back(memory);
	take_back(memory);
	/* An address may be an integer; the macros evaluate their arguments once, recorded or not. */
	MSREC_FREELIKE((unsigned long)(memory + evaluated++));
	MSREC_MALLOCLIKE(NULL, evaluated++);
	evaluated < 0 ? (void)0 : msrec_mark(evaluated++ ? "worked" : "");
	msrec_span_begin(evaluated++ ? "works" : "");
	evaluated < 0 ? (void)0 : msrec_span_end();
	return evaluated == 4 ? MSREC_RECORDING : -1;
}

#ifndef STATIC
static void *give_many(void *which)
{
	char *mine = memory + *(int *)which * BLOCKS;
	int i;

	for (i = 0; i < BLOCKS; i++)
		give_out(mine + i, (unsigned long)i);
	return NULL;
}

static void *take_many(void *which)
{
	char *others = memory + (*(int *)which + 1) % THREADS * BLOCKS;
	int i;

	for (i = 0; i < BLOCKS; i++)
		take_back(others + i);
	return NULL;
}

static void run_threads(void *(*what)(void *))
{
	pthread_t threads[THREADS];
	int which[THREADS], i;

	for (i = 0; i < THREADS; i++) {
		which[i] = i;
		pthread_create(&threads[i], NULL, what, &which[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_fork(void)
{
	int i;

	for (i = 0; i < 200; i++)
		give_out(memory + i / 2, 10);
	if (fork() == 0) {
		for (i = 0; i < 100; i++)
			take_back(memory + i);
		_exit(0);
	}
	wait(NULL);
}

static int work_of_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*work)(int);
	void *found = library ? dlsym(library, "request_work") : NULL;

	if (!found)
		return -1;
	memcpy(&work, &found, sizeof(work));
	return work(3);
}
#endif

int main(int argc, char **argv)
{
	int recording = 0;

	if (argc == 1)
		recording = request_work(3);
#ifndef STATIC
	else if (strcmp(argv[1], "dl") == 0)
		recording = work_of_library(argv[2]);
	else if (strcmp(argv[1], "fork") == 0)
		run_fork();
	else {
		run_threads(give_many);
		run_threads(take_many);
	}
#else
	(void)argv;
#endif
	printf("%d\n", recording);
	return 0;
}
