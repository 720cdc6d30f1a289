/* SPDX-License-Identifier: MIT */
/*
 * Memory for large arrays that are looked at here and there: it begins with a cache line, so that no item
 * whose size divides one lies in two, and asks the kernel for pages of 2 MiB, so that few places have to be
 * looked up. What hasn't been written to takes no memory but for the rest of such a page.
 */
#ifndef ANALYZE_HUGE_H
#define ANALYZE_HUGE_H

#include <stddef.h>

/*
 * Memory of `size` bytes, the first `used` of which are those of `old`, which is freed; NULL is allowed. To be
 * freed by free(). NULL when out of memory: `old` remains.
 */
void *huge_grow(void *old, size_t used, size_t size);

#endif
