/* SPDX-License-Identifier: MIT */
/* The argument of most recorder functions: what the program called, and what came of it. */
#ifndef PRELOAD_CALL_H
#define PRELOAD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mst_op.h"

/* One successful or failed allocating call, a free of `result`, or a client request about a custom block. */
struct call {
	enum mst_op op;
	uint8_t align_log2; /* requested alignment; 0 = none */
	/* Refused because a product overflowed; `size` is the wrapped product. Of a free: its function is not known. */
	bool overflow;
	bool invalid;       /* refused because of the alignment */
	const void *result; /* NULL = failed, or freed (MST_OP_REALLOC_FREE) */
	const void *old;    /* the block given to a realloc */
	size_t size;        /* of a free: that the program gave; 0: none */
};

/* log2 of the alignment that the allocator keeps: the next power of two. */
static inline uint8_t align_log2_of(size_t align)
{
	if (align > (size_t)1 << 62)
		return 63;
	return align > 1 ? (uint8_t)(64 - __builtin_clzl(align - 1)) : 0;
}

#endif
