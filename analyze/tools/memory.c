/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Address space that suffices for most replays. */
#define ROOM (128 << 20)

/* Larger blocks are few. mmap serves them: mremap grows them, munmap returns each alone. */
#define LARGE (8 << 20)

void memory_prepare(void)
{
#ifdef M_ARENA_MAX /* glibc's */
	char *start = sbrk(0), *end;
	void *volatile first; /* volatile keeps the malloc */
	const size_t before = -(uintptr_t)start % HUGE_PAGE;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	if (sbrk((intptr_t)before) == (void *)-1)
		return;
	/* The heap grows by ROOM now, and later by little more than each request. */
	mallopt(M_TOP_PAD, ROOM);
	first = malloc(LARGE / 2);
	free(first);
	mallopt(M_TOP_PAD, LARGE / 8);
	start += before;
	end = sbrk(0);
	if (end > start)
		(void)madvise(start, (size_t)(end - start), MADV_HUGEPAGE);
#endif
}
