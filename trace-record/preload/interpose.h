/* SPDX-License-Identifier: MIT */
/*
 * The most frequent functions, when a call may need an event. The exported functions (sampling.c) jump to these, so that they
 * find the program's registers and frame as if the program had called them.
 */
#ifndef PRELOAD_INTERPOSE_H
#define PRELOAD_INTERPOSE_H

#include <stddef.h>

void *interpose_malloc(size_t size);
void *interpose_calloc(size_t n, size_t size);
void *interpose_realloc(void *old, size_t size);
void interpose_free(void *p);

#endif
