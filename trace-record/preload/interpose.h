/* SPDX-License-Identifier: MIT */
/*
 * The functions that most calls are of, when a call may have to be told. They are jumped to by those that
 * the program calls (passing.c), so that they find the program's registers and frame as if it had called them.
 */
#ifndef PRELOAD_INTERPOSE_H
#define PRELOAD_INTERPOSE_H

#include <stddef.h>

void *interpose_malloc(size_t size);
void *interpose_calloc(size_t n, size_t size);
void *interpose_realloc(void *old, size_t size);
void interpose_free(void *p);

#endif
