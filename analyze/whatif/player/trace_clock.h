/* SPDX-License-Identifier: MIT */
/*
 * The clock that the allocator sees is the trace's: jemalloc and mimalloc give memory back after a time. The player's own
 * clock_gettime() takes the place of the C library's for all objects of the process.
 */
#ifndef ANALYZE_PLAYER_TRACE_CLOCK_H
#define ANALYZE_PLAYER_TRACE_CLOCK_H

#include <stdint.h>

void trace_clock_set(uint64_t ns);

/* Of CLOCK_MONOTONIC, as the kernel has it; and of the process's CPU time. */
uint64_t trace_clock_real(void);
uint64_t trace_clock_cpu(void);

#endif
