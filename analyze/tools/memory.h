/* SPDX-License-Identifier: MIT */
/*
 * How a tool's malloc gets its memory. A replay of a short recording touches some megabytes once, in many
 * pieces, and a quarter of its time went into the first touches of pages and into giving them back.
 */
#ifndef ANALYZE_MEMORY_H
#define ANALYZE_MEMORY_H

/*
 * To be called first in main(), for the whole process: the heap is kept until the end, in huge pages where
 * the system has them, and shared by all threads, which allocate little. Where that can't be, nothing
 * changes.
 */
void memory_prepare(void);

#endif
