/* SPDX-License-Identifier: MIT */
/*
 * The threads of a trace. Each is a real thread, with its own thread-local storage and destructors, but it sleeps: the main
 * thread makes its calls, after it has taken its thread pointer (the base of fs). To an allocator, which knows threads by
 * their storage, the calls are the thread's. So a change of threads costs some nanoseconds, and calls cannot overtake each
 * other. Stacks lie in shared memory.
 */
#ifndef ANALYZE_PLAYER_THREADS_H
#define ANALYZE_PLAYER_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Threads are numbers below `n`. False: no memory. */
bool threads_init(uint32_t n);

/* The caller's calls are those of a thread, which is made if it doesn't exist. False: it can't be; the main one's instead. */
bool threads_become(uint32_t thread);

/* The thread ends, with its destructors, before this returns. It isn't the present one. */
void threads_end(uint32_t thread);

#endif
