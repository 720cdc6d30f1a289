/* SPDX-License-Identifier: MIT */
/*
 * An allocator that does next to nothing: blocks overlap, and are the same 64 KiB again and again, or the same 256 MiB
 * where they are large. A player with it takes what players take for themselves.
 */
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static _Alignas(4096) char few[1 << 16], many[256 << 20];
static _Thread_local size_t at __attribute__((tls_model("initial-exec"))); /* its access allocates nothing */

void *malloc(size_t size)
{
	if (size > sizeof(few) / 2)
		return size <= sizeof(many) ? many : NULL;
	at = at + size + 16 > sizeof(few) ? 0 : at;
	void *block = few + at;
	at += (size + 15) & ~(size_t)15;
	return block;
}

void free(void *block)
{
	(void)block;
}

/* By it the loader gets what a thread needs to live, so its first blocks are not used again. */
void *calloc(size_t n, size_t size)
{
	static _Alignas(4096) char first[64 << 20];
	static _Atomic size_t used;
	const size_t bytes = (n * size + 15) & ~(size_t)15;

	if (bytes <= sizeof(few) && used < sizeof(first) - (4 << 20)) {
		const size_t begin = used += bytes;

		return first + begin - bytes;
	}
	return malloc(n * size);
}

void *realloc(void *block, size_t size)
{
	(void)block;
	return size ? malloc(size) : NULL;
}

void *memalign(size_t align, size_t size)
{
	return align + size <= sizeof(many) ? many : NULL;
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **block, size_t align, size_t size)
{
	*block = memalign(align, size);
	return *block ? 0 : 12;
}

void *valloc(size_t size)
{
	return memalign(1, size);
}

void *pvalloc(size_t size)
{
	return memalign(1, size);
}

size_t malloc_usable_size(void *block)
{
	(void)block;
	return 0;
}
