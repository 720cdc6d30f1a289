/* SPDX-License-Identifier: MIT */
/*
 * The most frequent functions, when a call may need an event. The exported functions (sampling.c) jump to these, so that they
 * find the program's registers and frame as if the program had called them.
 */
#ifndef PRELOAD_INTERPOSE_H
#define PRELOAD_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "call.h"
#include "mst_op.h"
#include "registers.h"

#define INTERPOSE_PAGE_LOG2 12 /* what valloc() aligns to */

void *interpose_malloc(size_t size);
void *interpose_calloc(size_t n, size_t size);
void *interpose_realloc(void *old, size_t size);
void interpose_free(void *p);

/* Records a free of any kind. True if the real function must be called. */
bool interpose_freeing(const struct call *call, const struct unwind_regs *regs);

/* As free(), of operator delete (`op`), which was given a size, or 0. */
void interpose_delete(enum mst_op op, void *p, size_t size);

#endif
