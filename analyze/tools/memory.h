/* SPDX-License-Identifier: MIT */
/*
 * How a tool's malloc gets its memory. A replay of a short recording touches some megabytes once, in many
 * pieces, and a quarter of its time went into the first touches of pages and into giving them back.
 */
#ifndef ANALYZE_MEMORY_H
#define ANALYZE_MEMORY_H

/*
 * Call first in main(). Configures malloc for the whole process: one heap for all threads, which allocate little; it
 * never shrinks and uses huge pages where the system has them. On failure malloc keeps its defaults.
 */
void memory_prepare(void);

#endif
