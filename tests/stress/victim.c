/* SPDX-License-Identifier: MIT */
/*
 * A program that kill.py kills, or that ends in a given way. Its threads call functions that no library
 * calls by itself, and count each call after it has returned, in a file that outlives them: so kill.py
 * can check a trace against the program's own counts.
 *
 *     victim PAGE END CALLS
 *
 * maps the file PAGE (struct page) and works with WORKERS threads and one that starts short ones. When all
 * of them together have made CALLS calls (0: never), or when page->stop is set, the program ends as END
 * says.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define WORKERS 4
#define KEPT 16

enum counted {
	COUNT_ALIGNED_ALLOC,
	COUNT_MEMALIGN,
	COUNT_POSIX_MEMALIGN,
	COUNT_VALLOC,
	COUNT_REFUSED, /* reallocarray of more than the address space */
	COUNT_REALLOC,
	COUNT_FREE,
	COUNTS
};

/* kill.py reads this layout. */
struct page {
	_Atomic uint64_t begun; /* main() was reached */
	_Atomic uint64_t stop;
	_Atomic uint64_t ready; /* CALLS calls are made: about to end */
	uint64_t pad[5];
	_Atomic uint64_t count[COUNTS];
};

static struct page *page;
static uint64_t calls_wanted;
static _Atomic uint64_t calls_made;

static void count(enum counted what)
{
	atomic_fetch_add(&page->count[what], 1);
	atomic_fetch_add(&calls_made, 1);
}

static int enough(void)
{
	return page->stop || (calls_wanted && calls_made >= calls_wanted);
}

/* ---- calls ---- */

static void *allocate(unsigned n)
{
	const size_t size = n * 7919 % 700 + 1;
	void *p = NULL;

	switch (n % 7) {
	case 0:
		p = memalign(32, size);
		count(COUNT_MEMALIGN);
		break;
	case 1:
		if (posix_memalign(&p, 64, size) != 0)
			abort();
		count(COUNT_POSIX_MEMALIGN);
		break;
	case 2:
		p = valloc(size);
		count(COUNT_VALLOC);
		break;
	default:
		p = aligned_alloc(16, (size + 15) & ~(size_t)15);
		count(COUNT_ALIGNED_ALLOC);
	}
	return p;
}

static void release(void *p)
{
	if (!p)
		return;
	free(p);
	count(COUNT_FREE);
}

static void *change(void *p, unsigned n)
{
	const volatile size_t huge = SIZE_MAX / 2;

	if (n % 5 == 0) {
		if (reallocarray(p, huge, 3))
			abort();
		count(COUNT_REFUSED);
	}
	if (n % 3 == 0) {
		p = realloc(p, n * 104729 % 3000 + 1);
		count(COUNT_REALLOC);
	}
	return p;
}

/* Deeper and shallower stacks, so that the recorder's unwinder always has new frames. */
static __attribute__((noinline)) void work(void **kept, unsigned n, unsigned depth)
{
	char volatile frame[32];

	frame[n % 32] = 1;
	if (depth) {
		work(kept, n, depth - frame[n % 32]);
		return;
	}
	release(kept[n % KEPT]);
	free((void *)(frame[n % 32] - (intptr_t)1)); /* NULL, but the compiler doesn't know */
	kept[n % KEPT] = change(allocate(n), n);
}

static void work_until(unsigned seed, unsigned rounds)
{
	void *kept[KEPT] = { 0 };

	for (unsigned n = seed; rounds-- && !enough(); n++)
		work(kept, n, n % 23);
	for (int i = 0; i < KEPT; i++)
		release(kept[i]);
}

static void *worker(void *argument)
{
	work_until((unsigned)(uintptr_t)argument, UINT32_MAX);
	return NULL;
}

static void *short_thread(void *argument)
{
	work_until((unsigned)(uintptr_t)argument, 50);
	return NULL;
}

static void *starter(void *argument)
{
	(void)argument;
	for (uintptr_t i = 0; !enough(); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, short_thread, (void *)i) == 0)
			pthread_join(thread, NULL);
	}
	return NULL;
}

/* ---- ends ---- */

static void end_quietly(void)
{
	exit(7);
}

static void end_at_once(void)
{
	_exit(9);
}

static void end_quickly(void)
{
	quick_exit(11);
}

static void end_by_segv(void)
{
	*(volatile int *)(uintptr_t)8 = 1;
}

static void end_by_trap(void)
{
	__builtin_trap();
}

static void end_by_exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static int overflow(int n)
{
	char volatile some[4096];

	some[n % 4096] = (char)n;
	return n == INT_MAX ? 0 : overflow(n + 1) + some[0];
}

static void end_by_overflow(void)
{
	exit(overflow(1));
}

static void end_by_free(void)
{
	void *p = malloc(100);
	void *volatile again = p;

	free(p);
	free(again);
}

/* Takes memory until RLIMIT_DATA is reached, or the kernel kills the process before. */
static void take_memory(size_t most)
{
	const struct rlimit limit = { most, most };

	/* If more than the limit is mapped already, every further mapping fails. */
	if (setrlimit(RLIMIT_DATA, &limit) != 0)
		exit(98);
	for (;;) {
		void *p = aligned_alloc(4096, 1 << 20);

		if (!p)
			abort();
		count(COUNT_ALIGNED_ALLOC);
		memset(p, 1, 1 << 20);
	}
}

static void end_by_memory(void)
{
	take_memory((size_t)2 << 30);
}

static void end_by_limit(void)
{
	take_memory((size_t)512 << 20);
}

static const struct end {
	const char *name;
	void (*run)(void);
} ends[] = {
	{ "exit", end_quietly },
	{ "_exit", end_at_once },
	{ "quick_exit", end_quickly },
	{ "segv", end_by_segv },
	{ "abort", abort },
	{ "trap", end_by_trap },
	{ "exec", end_by_exec },
	{ "overflow", end_by_overflow },
	{ "double-free", end_by_free },
	{ "memory", end_by_memory },
	{ "no memory", end_by_limit },
};

int main(int argc, char **argv)
{
	const struct end *end = ends;
	const struct rlimit no_core = { 0, 0 };
	pthread_t thread[WORKERS + 1];
	const int fd = argc == 4 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	while (fd >= 0 && strcmp(end->name, argv[2]) != 0) {
		if (++end == ends + sizeof(ends) / sizeof(*ends))
			return 96;
	}
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 97;
	close(fd);
	setrlimit(RLIMIT_CORE, &no_core);
	calls_wanted = strtoull(argv[3], NULL, 10);
	page->begun = 1;
	for (uintptr_t i = 0; i < WORKERS + 1; i++) {
		if (pthread_create(&thread[i], NULL, i ? worker : starter, (void *)(i * 12345)) != 0)
			return 95;
	}
	for (int i = 0; i < WORKERS + 1; i++)
		pthread_join(thread[i], NULL);
	page->ready = 1;
	end->run();
	return 94;
}
