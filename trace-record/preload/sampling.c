/* SPDX-License-Identifier: MIT */
/*
 * The functions that the program calls most. While blocks are sampled (sample.h), nearly no call needs an event, and while
 * recording is off, none. So these are built without frames, and jump: to the real function, or to that of interpose.c, which
 * records the call.
 */
#include <stdlib.h>

#include "export.h"
#include "interpose.h"
#include "next_malloc.h"
#include "thread_lookup.h"

EXPORT void *malloc(size_t size)
{
	return phase_is_quiet() || thread_passes(size) ? next.malloc(size) : interpose_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	size_t product;

	if (phase_is_quiet())
		return next.calloc(n, size);
	if (__builtin_expect(sample_on, 0) && !__builtin_mul_overflow(n, size, &product) &&
	    thread_passes(product))
		return next.calloc(n, size);
	return interpose_calloc(n, size);
}

/* A block of the arena must not come to the real function. */
EXPORT void *realloc(void *old, size_t size)
{
	if (phase_is_dormant() && !next_arena_owns(old))
		return next.realloc(old, size);
	return thread_frees_unsampled(old) && !next_arena_owns(old) && thread_passes(size)
		       ? next.realloc(old, size)
		       : interpose_realloc(old, size);
}

/* free(NULL) is counted, too. */
EXPORT void free(void *p)
{
	if ((phase_is_dormant() || (p && thread_frees_unsampled(p))) && !next_arena_owns(p) && !next_ending)
		next.free(p);
	else
		interpose_free(p);
}
