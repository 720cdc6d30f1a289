/* SPDX-License-Identifier: MIT */
/*
 * A program whose heap is counted. `census_program N` starts N threads that allocate in all ways there are, and obeys lines on
 * standard input; all threads stand still between two, but for `churn`.
 *
 *   run K        each thread makes K rounds; "ok"
 *   churn        threads run until the next command; "ok"
 *   halt         ends that; "ok"
 *   list FILE    writes "ADDRESS USABLE" of each block that is live; "ok"
 *   info FILE    writes what malloc_info(3) says; "ok"
 *   usable       the sum of what is usable in the live blocks
 *   fork         a child frees all blocks, and ends; its process id
 *   free         frees all blocks, each by another thread than its own, if there are two; "ok"
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 3000u
#define THREADS_MOST 64u
#define SHARED 8u /* slots that the next thread frees */

static void *blocks[THREADS_MOST][SLOTS];
static unsigned n_threads;
static pthread_barrier_t begin, end;
static uint64_t rounds;
static atomic_bool churns;
static bool frees;

static uint64_t draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Mostly small; one in sixty-four has a mapping of its own at first, until malloc has learnt from the first free. */
static size_t draw_size(uint64_t *random)
{
	switch (draw(random) % 64) {
	case 0:
		return draw(random) % 500000;
	case 1:
	case 2:
		return draw(random) % 20000;
	default:
		return draw(random) % 900;
	}
}

static void one_round(unsigned self, uint64_t *random)
{
	void **const b = &blocks[self][draw(random) % (SLOTS - SHARED)];
	const size_t size = draw_size(random);

	switch (draw(random) % 6) {
	case 0:
		free(*b);
		*b = NULL;
		break;
	case 1:
		*b = realloc(*b, size + 1);
		break;
	case 2:
		free(*b);
		*b = memalign((size_t)32 << draw(random) % 9, size + 1);
		break;
	case 3:
		free(*b);
		*b = calloc(1, size);
		break;
	default:
		free(*b);
		*b = malloc(size);
		break;
	}
	if (*b)
		memset(*b, 0x5a, size);
}

/* The next thread has freed what was here. */
static void share(unsigned self, uint64_t *random)
{
	for (unsigned i = SLOTS - SHARED; i < SLOTS; i++) {
		if (!blocks[self][i])
			blocks[self][i] = malloc(draw(random) % 200);
	}
}

static void free_shared(unsigned self)
{
	for (unsigned i = SLOTS - SHARED; i < SLOTS; i++) {
		free(blocks[self][i]);
		blocks[self][i] = NULL;
	}
}

static void free_all(unsigned self)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		free(blocks[self][i]);
		blocks[self][i] = NULL;
	}
}

static void *work(void *number)
{
	const unsigned self = (unsigned)(uintptr_t)number, next = (self + 1) % n_threads;
	uint64_t random = 88172645463325252u + self * 7919u;

	for (;;) {
		pthread_barrier_wait(&begin);
		if (frees)
			free_all(next);
		else
			share(self, &random);
		for (uint64_t i = 0; !frees && (i < rounds || churns); i++)
			one_round(self, &random);
		pthread_barrier_wait(&end);
		if (!frees)
			free_shared(next);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void start_round(void)
{
	pthread_barrier_wait(&begin);
}

static void await_round(void)
{
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
}

/* ---- commands ---- */

static void list(const char *path, size_t *usable)
{
	FILE *file = path ? fopen(path, "w") : NULL;

	*usable = 0;
	for (unsigned i = 0; i < n_threads; i++) {
		for (unsigned k = 0; k < SLOTS; k++) {
			void *p = blocks[i][k];

			if (!p)
				continue;
			*usable += malloc_usable_size(p);
			if (file)
				fprintf(file, "%" PRIxPTR " %zu\n", (uintptr_t)p, malloc_usable_size(p));
		}
	}
	if (file)
		fclose(file);
}

/* The file's own memory is there already when malloc looks, and stays. */
static void info(const char *path)
{
	static char buffer[1 << 16];
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	malloc_info(0, file);
	fflush(file);
}

static int fork_one(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		for (unsigned i = 0; i < n_threads; i++)
			free_all(i);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return (int)pid;
}

static void obey(const char *line)
{
	size_t usable;

	if (strncmp(line, "run ", 4) == 0) {
		rounds = strtoull(line + 4, NULL, 10);
		start_round();
		await_round();
	} else if (strcmp(line, "churn") == 0) {
		rounds = 0;
		churns = true;
		start_round();
	} else if (strcmp(line, "halt") == 0) {
		churns = false;
		await_round();
	} else if (strncmp(line, "list ", 5) == 0) {
		list(line + 5, &usable);
	} else if (strncmp(line, "info ", 5) == 0) {
		info(line + 5);
	} else if (strcmp(line, "free") == 0) {
		frees = true;
		start_round();
		await_round();
		frees = false;
	} else if (strcmp(line, "fork") == 0) {
		printf("%d\n", fork_one());
		return;
	} else if (strcmp(line, "usable") == 0) {
		list(NULL, &usable);
		printf("%zu\n", usable);
		return;
	}
	puts("ok");
}

int main(int argc, char **argv)
{
	static char in[4096], out[4096];
	char line[1024];

	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	n_threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
	if (!n_threads || n_threads > THREADS_MOST)
		return 2;
	pthread_barrier_init(&begin, NULL, n_threads + 1);
	pthread_barrier_init(&end, NULL, n_threads + 1);
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)i) != 0)
			return 2;
	}
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(line);
	}
	return 0;
}
