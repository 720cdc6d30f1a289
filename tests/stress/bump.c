/* SPDX-License-Identifier: MIT */
/*
 * An allocator that a signal handler may call at any time: it moves one pointer forward and reuses no memory. It is
 * preloaded behind the recorder; so no function here calls another one that the recorder replaces. Or it is linked
 * into a program as its own allocator, whose entries the recorder patches.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef BYTES
#define BYTES (2ul << 30)
#endif

static char memory[BYTES] __attribute__((aligned(4096)));
static _Atomic size_t used;

static void *bump(size_t align, size_t size)
{
	size_t start, old = atomic_load(&used);

	do {
		/* Sixteen bytes in front hold the size, for realloc. */
		start = (old + 16 + align - 1) & ~(align - 1);
		if (size > BYTES || start > BYTES - size) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&used, &old, start + size));
	memcpy(memory + start - 8, &size, sizeof size);
	return memory + start;
}

int bump_owns(const void *p)
{
	return (uintptr_t)p - (uintptr_t)memory < BYTES;
}

void *malloc(size_t size)
{
	return bump(16, size);
}

void *calloc(size_t n, size_t size)
{
	return bump(16, n * size);
}

void *realloc(void *old, size_t size)
{
	void *p = bump(16, size);
	size_t had = 0;

	if (old)
		memcpy(&had, (char *)old - 8, sizeof had);
	if (p && old)
		memcpy(p, old, had < size ? had : size);
	return p;
}

void free(void *p)
{
	(void)p;
}

void *memalign(size_t align, size_t size)
{
	return bump(align < 16 ? 16 : align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return bump(align < 16 ? 16 : align, size);
}

int posix_memalign(void **result, size_t align, size_t size)
{
	*result = bump(align < 16 ? 16 : align, size);
	return *result ? 0 : ENOMEM;
}
