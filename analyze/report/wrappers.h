/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the allocator that have no names, as in stripped programs. A frame is a call instruction. What tells one
 * within a wrapper from others is that many places lead to it, and that all of them lead to the allocator only.
 */
#ifndef ANALYZE_WRAPPERS_H
#define ANALYZE_WRAPPERS_H

#include "mstrace.h"

/* Places in the same library that call a wrapper, at least; and wrappers of wrappers, at most. */
enum { WRAPPER_CALLERS = 5, WRAPPER_LEVELS = 4 };

/*
 * `nodes`: n nodes of the stacks' tree whose frames have no names, each the innermost of a stack that is no part of the
 * allocator; overwritten. Returns by frame whether it is a wrapper's, for the caller to free; NULL: no memory.
 */
bool *wrappers_find(const struct mst_reader *reader, uint32_t *nodes, uint32_t n);

/* The node outside of the wrappers by which its library came to `node`, or one of theirs, if that library has no other. */
uint32_t wrappers_leave(const struct mst_reader *reader, const bool *wrappers, uint32_t node);

#endif
