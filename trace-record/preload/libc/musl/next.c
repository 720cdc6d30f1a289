/* SPDX-License-Identifier: MIT */
/*
 * Some functions of musl are made of others, which they call as a program does: calloc() of malloc(), valloc() of memalign(), and
 * that and posix_memalign() of aligned_alloc(). The recorder would see two calls. So it makes these of the others itself.
 */
#include "libc/libc_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "elfsym.h"
#include "next_malloc.h"
#include "os.h"

static bool is_zero(const char *p, size_t n)
{
	uint64_t word;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		if (word)
			return false;
	}
	for (; n > 0; n--) {
		if (*p++)
			return false;
	}
	return true;
}

/* Reads a large block's pages before it writes: fresh ones are zero, and stay unused. musl's calloc() does so for any other malloc(). */
static void clear(char *p, size_t n)
{
	for (; n >= PAGE; p += PAGE, n -= PAGE) {
		if (!is_zero(p, PAGE))
			memset(p, 0, PAGE);
	}
	if (!is_zero(p, n))
		memset(p, 0, n);
}

static void *calloc_by_malloc(size_t n, size_t size)
{
	size_t product;
	void *p;

	if (__builtin_mul_overflow(n, size, &product)) {
		errno = ENOMEM;
		return NULL;
	}
	p = next.malloc(product);
	if (p)
		clear(p, product);
	return p;
}

static int posix_memalign_by_aligned_alloc(void **result, size_t align, size_t size)
{
	void *p;

	if (align < sizeof(void *))
		return EINVAL;
	p = next.aligned_alloc(align, size);
	if (!p)
		return errno;
	*result = p;
	return 0;
}

static void *valloc_by_aligned_alloc(size_t size)
{
	return next.aligned_alloc(PAGE, size);
}

static void *reallocarray_by_realloc(void *old, size_t n, size_t size)
{
	size_t product;

	if (!__builtin_mul_overflow(n, size, &product))
		return next.realloc(old, product);
	errno = ENOMEM;
	return NULL;
}

void libc_resolve(void)
{
	next.pthread_atfork = dlsym(RTLD_NEXT, "pthread_atfork");
	next.reallocarray_is_libcs = false;
	next.reallocarray = reallocarray_by_realloc;
	/* Another allocator's own functions call each other directly. */
	if (!elfsym_are_together((void *)next.malloc, (void *)next.exit_now))
		return;
	next.calloc = calloc_by_malloc;
	next.memalign = next.aligned_alloc;
	next.posix_memalign = posix_memalign_by_aligned_alloc;
	next.valloc = valloc_by_aligned_alloc;
}
