/* SPDX-License-Identifier: MIT */
/*
 * While one thread forks, the others wait after the event that they have just told: before the real free, or
 * before the program has what a call gave. So a child's memory holds what was done up to the fork's mark
 * and nothing of what was told behind it. All waiting is bounded.
 */
#ifndef PRELOAD_FORK_BARRIER_H
#define PRELOAD_FORK_BARRIER_H

#include "thread.h"

/* The slow half of fork_barrier_pass(): another thread forks, or did a moment ago. */
void fork_barrier_wait(const struct thread *t);

/* The event of a block has been told: it is the program's business again, once no other thread forks. */
static inline void fork_barrier_pass(struct thread *t, uint8_t before)
{
	thread_go_back(t, before);
	if (__builtin_expect(atomic_load_explicit(&the_process.forking, memory_order_relaxed), 0))
		fork_barrier_wait(t);
}

/* Before the mark of a fork, and in the parent behind it. In the child the gate is open. */
void fork_barrier_close(const struct thread *t);
void fork_barrier_open(const struct thread *t);

#endif
