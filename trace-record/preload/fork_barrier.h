/* SPDX-License-Identifier: MIT */
/*
 * While one thread forks, each other thread waits after the event that it has just emitted: before the real free, or before
 * the program gets the result of an allocation. So a child's memory holds what was done up to the fork's
 * marker, and nothing of what was emitted behind it. All waiting is bounded.
 */
#ifndef PRELOAD_FORK_BARRIER_H
#define PRELOAD_FORK_BARRIER_H

#include "process_state.h"
#include "thread_state.h"

/* The slow half of fork_barrier_pass(): another thread forks, or did a moment ago. */
void fork_barrier_wait(const struct thread *t);

/* Ends the event of a block: the thread goes back to the program once no other thread forks. */
static inline void fork_barrier_pass(struct thread *t, uint8_t before)
{
	thread_end_event(t, before);
	if (__builtin_expect(atomic_load_explicit(&the_process.forks.forking, memory_order_relaxed), 0))
		fork_barrier_wait(t);
}

/* Before the marker of a fork, and in the parent behind it. In the child the barrier is open. */
void fork_barrier_close(const struct thread *t);
void fork_barrier_open(const struct thread *t);

#endif
