/* SPDX-License-Identifier: MIT */
/*
 * Memory for large arrays that are looked at here and there: it begins with a cache line, so that no item
 * whose size divides one lies in two, and asks the kernel for pages of 2 MiB, so that few places have to be
 * looked up. What hasn't been written to takes no memory but for the rest of such a page. A large array grows
 * without being copied.
 */
#ifndef BASE_HUGE_PAGES_H
#define BASE_HUGE_PAGES_H

#include <stddef.h>

/*
 * Memory of `size` bytes, the first of which are the `old_size` bytes at `old`, which is gone then; NULL and 0 are
 * allowed. NULL when out of memory: `old` remains.
 */
void *huge_grow(void *old, size_t old_size, size_t size);

/* `size`: as it was asked for. NULL is allowed. */
void huge_free(void *memory, size_t size);

#endif
