/* SPDX-License-Identifier: MIT */
/*
 * Finds stacks by parent and frame. Stacks that are new come as runs from the outside inwards, each below the one before
 * it. So a stack's home is a cache line by its parent's number, and a run fills one line after the other. Stacks whose
 * home is full are in an index by hash. Nothing is ever removed. Private.
 */
#ifndef MSTRACE_STACK_INDEX_H
#define MSTRACE_STACK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "hash_index.h"
#include "mstrace.h"

#define STACK_LINE 8u /* entries of 8 bytes */

struct stack_line {
	struct stack_entry {
		uint32_t frame;
		uint32_t stack; /* 0: free, and so are those behind it */
	} entries[STACK_LINE];
};

/* Each stack but the root is in its home, or in `others` if that is full. At least two entries a stack. */
struct stack_index {
	struct stack_line *lines;
	uint32_t mask; /* lines - 1, a power of two - 1 */
	uint32_t used; /* stacks, those in `others` among them */
	struct hash_index others;
};

/* False: no memory; the index may still be finished. */
bool stack_index_init(struct stack_index *index);
void stack_index_finish(struct stack_index *index);
bool stack_index_copy(struct stack_index *to, const struct stack_index *from);

/* Makes room for another stack; stacks[] has those so far. False: no memory. */
bool stack_index_grow(struct stack_index *index, const struct mst_stack *stacks);
static inline bool stack_index_reserve(struct stack_index *index, const struct mst_stack *stacks)
{
	return (__builtin_expect(index->used / (STACK_LINE / 2) < index->mask, 1) &&
		__builtin_expect(index->others.used < index->others.mask / 2, 1)) ||
	       stack_index_grow(index, stacks);
}

/* Finds a stack among stacks[]; 0: it isn't there. */
uint32_t stack_index_find(const struct stack_index *index, const struct mst_stack *stacks,
			  const struct mst_stack *stack);

/* After stack_index_reserve(): adds stacks[id]. */
void stack_index_add(struct stack_index *index, const struct mst_stack *stacks, uint32_t id);

#endif
