/* SPDX-License-Identifier: MIT */
/*
 * Counts the system calls for memory: a player that is asked to becomes two processes. The parent traces the child, which
 * plays; a filter stops the child at mmap, munmap, mremap, brk and madvise alone. Times of such a run mean nothing.
 */
#ifndef ANALYZE_PLAYER_COUNT_CALLS_H
#define ANALYZE_PLAYER_COUNT_CALLS_H

#include <stdint.h>

/* Returns in the child. The parent counts in counts[PLAYER_SYSCALLS], and ends as the child does. */
void count_calls(uint64_t *counts);

#endif
