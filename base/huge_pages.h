/* SPDX-License-Identifier: MIT */
/*
 * Memory for large arrays with random access. It is aligned to a cache line, so that no item whose size divides a line
 * lies in two, and asks the kernel for pages of 2 MiB, to save TLB misses. Parts that were never written take no
 * memory, but for the rest of such a page. A large array grows without a copy.
 */
#ifndef BASE_HUGE_PAGES_H
#define BASE_HUGE_PAGES_H

#include <stddef.h>

/*
 * Returns `size` bytes that begin with the `old_size` bytes at `old`, and frees `old`; NULL and 0 are allowed. NULL: no
 * memory; `old` remains.
 */
void *huge_grow(void *old, size_t old_size, size_t size);

/* `size`: as given to huge_grow(). NULL is allowed. */
void huge_free(void *memory, size_t size);

#endif
