/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Address space: what most replays ever need. */
#define ROOM (128 << 20)

/* Larger blocks are few, grow by remapping, and are given back alone. */
#define LARGE (8 << 20)

void memory_prepare(void)
{
	char *start = sbrk(0), *end;
	void *volatile first; /* not to be optimized away */
	const size_t before = -(uintptr_t)start % HUGE_PAGE;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	if (sbrk((intptr_t)before) == (void *)-1)
		return;
	/* The heap grows by that much now, and by little more than is asked for later. */
	mallopt(M_TOP_PAD, ROOM);
	first = malloc(LARGE / 2);
	free(first);
	mallopt(M_TOP_PAD, LARGE / 8);
	start += before;
	end = sbrk(0);
	if (end > start)
		(void)madvise(start, (size_t)(end - start), MADV_HUGEPAGE);
}
