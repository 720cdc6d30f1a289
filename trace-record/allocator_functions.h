/* SPDX-License-Identifier: MIT */
/* The functions by which programs call allocators that are linked into them: C's, C++'s, jemalloc's and mimalloc's. */
#ifndef TRACE_RECORD_ALLOCATOR_FUNCTIONS_H
#define TRACE_RECORD_ALLOCATOR_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "entry_plan.h"

/* Names of one family have a prefix in common, such as "_rjem_" where Rust programs bring jemalloc. */
#define ALLOCATOR_PREFIXES 5u
#define ALLOCATOR_PLAIN 0u /* the family of those without a prefix */

struct allocator_function {
	const char *name; /* without a prefix */
	uint8_t shape;    /* enum entry_shape; ENTRY_SHAPES: malloc_usable_size */
	uint8_t op;       /* enum mst_op */
	bool is_operator;
};

/* NULL: the symbol is no such function. *family is the number of the prefix. */
const struct allocator_function *allocator_function_find(const char *symbol, uint32_t *family);

/* Functions of libc that a recorder has to know of, and that no library takes the place of in a running program. */
const struct allocator_function *allocator_hook_find(const char *symbol);

/* Whether a function is one of those. */
static inline bool allocator_shape_is_hook(uint8_t shape)
{
	return shape == ENTRY_FORK || shape == ENTRY_CLOSE;
}

/* Whether a call of that shape gives memory back. */
bool allocator_shape_frees(uint8_t shape);

/* The number of arguments that a function of that shape takes. */
uint8_t allocator_shape_arguments(uint8_t shape);

#endif
