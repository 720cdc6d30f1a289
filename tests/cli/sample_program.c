/* SPDX-License-Identifier: MIT */
/*
 * Allocates from a few functions in many sizes and prints its counts, for sample.py:
 * sample_program plain | freed | threads | fork | realloc | custom | new. A line "FUNCTION SIZE BLOCKS LIVE" for each
 * function and size, of blocks given and of those that are left at the end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msrec.h"

enum site { SMALL, MIDDLE, LARGE, CLEARED, GROWN, CUSTOM, BUILT, SITES };

static const char *const names[SITES] = { "small", "middle", "large", "cleared", "grown", "custom", "built" };
static const unsigned steps[SITES] = { 1, 97, 20011, 13, 173, 29, 31 }; /* from size to size */
static const unsigned blocks[SITES] = { 120000, 20000, 800, 60000, 20000, 60000, 60000 };

#define SIZES 100u
#define KEPT 4u /* one block in so many stays */

static _Atomic uint64_t given[SITES][SIZES], left[SITES][SIZES];
static bool keep = true;

static size_t size_of(enum site site, unsigned i)
{
	return (size_t)steps[site] * i;
}

#ifdef __clang__
#define SITE __attribute__((noinline)) static void *
#else
#define SITE __attribute__((noinline, noclone)) static void *
#endif

SITE small(void *old, size_t size)
{
	void *volatile p = malloc(size);
	(void)old;
	return p;
}

SITE middle(void *old, size_t size)
{
	void *volatile p = malloc(size);
	(void)old;
	return p;
}

SITE large(void *old, size_t size)
{
	void *volatile p = malloc(size);
	(void)old;
	return p;
}

SITE cleared(void *old, size_t size)
{
	void *volatile p = calloc(1, size);
	(void)old;
	return p;
}

SITE grown(void *old, size_t size)
{
	void *volatile p = realloc(old, size ? size : 1);
	return p;
}

/* Out of memory of its own: many may be live at a time. */
SITE custom(void *old, size_t size)
{
	static _Atomic uintptr_t next = 0x100000;
	void *volatile p = (void *)atomic_fetch_add(&next, size + 64);
	(void)old;
	MSREC_MALLOCLIKE(p, size);
	return p;
}

/* operator new(size_t) and operator delete(void *), as C++ calls them. */
void *_Znwm(size_t size);
void _ZdlPv(void *p);

SITE built(void *old, size_t size)
{
	void *volatile p = _Znwm(size);
	(void)old;
	return p;
}

typedef void *give(void *, size_t);
static give *const gives[SITES] = { small, middle, large, cleared, grown, custom, built };

/* Blocks of one function, of which some stay. */
static void run(enum site site, unsigned n)
{
	void *held = NULL;

	for (unsigned i = 0; i < n; i++) {
		const unsigned size = i * 37 % SIZES;
		void *p = gives[site](site == GROWN ? held : NULL, size_of(site, size));
		const bool stays = keep && i / SIZES % KEPT == 0;

		if (site == GROWN && held)
			atomic_fetch_sub(&left[site][(i - 1) * 37 % SIZES], 1);
		atomic_fetch_add(&given[site][size], 1);
		atomic_fetch_add(&left[site][size], 1);
		held = NULL;
		if (site == GROWN && i % 5 != 4) {
			held = p;
		} else if (!stays) {
			if (site == CUSTOM)
				MSREC_FREELIKE(p);
			else if (site == BUILT)
				_ZdlPv(p);
			else
				free(p);
			atomic_fetch_sub(&left[site][size], 1);
		}
	}
	free(held);
	if (held)
		atomic_fetch_sub(&left[site][(n - 1) * 37 % SIZES], 1);
}

static void run_malloc(void)
{
	for (enum site site = SMALL; site <= CLEARED; site++)
		run(site, blocks[site]);
}

static void *thread(void *unused)
{
	(void)unused;
	for (enum site site = SMALL; site <= CLEARED; site++)
		run(site, blocks[site] / 4);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[8];

	for (unsigned i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

/* The child inherits the parent's blocks and frees one of them. */
static void run_fork(void)
{
	void *parents = small(NULL, 50);
	pid_t pid;

	run_malloc();
	pid = fork();
	if (pid == 0) {
		free(parents);
		run(MIDDLE, blocks[MIDDLE]);
		run(LARGE, blocks[LARGE]);
		atomic_fetch_add(&given[SMALL][50], 1);
		return;
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void print_sites(void)
{
	for (unsigned s = 0; s < SITES; s++) {
		for (unsigned i = 0; i < SIZES; i++) {
			size_t size = size_of(s, i);

			if (s == GROWN && !size)
				size = 1;
			if (given[s][i])
				printf("%s %zu %llu %llu\n", names[s], size, (unsigned long long)given[s][i],
				       (unsigned long long)left[s][i]);
		}
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static char buffer[BUFSIZ];
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	keep = strcmp(mode, "freed") != 0;
	if (strcmp(mode, "plain") == 0 || !keep)
		run_malloc();
	else if (strcmp(mode, "threads") == 0)
		run_threads();
	else if (strcmp(mode, "fork") == 0)
		run_fork();
	else if (strcmp(mode, "realloc") == 0)
		run(GROWN, 4 * blocks[GROWN]);
	else if (strcmp(mode, "custom") == 0)
		run(CUSTOM, blocks[CUSTOM]);
	else if (strcmp(mode, "new") == 0)
		run(BUILT, blocks[BUILT]);
	else
		return 2;
	print_sites();
	return 0;
}
