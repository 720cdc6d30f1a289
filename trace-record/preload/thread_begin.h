/* SPDX-License-Identifier: MIT */
/* Sets up the state of a thread: gives it a ring, a stack for the unwinder, and what its options want. */
#ifndef PRELOAD_THREAD_BEGIN_H
#define PRELOAD_THREAD_BEGIN_H

#include "thread_state.h"

/*
 * The slow way to the calling thread's state: begins the process or the thread, if need be. NULL: the thread cannot be
 * recorded.
 */
struct thread *thread_begin(void);

/* The state for what the calling thread does inside an event of `t`, its own. NULL: that cannot be recorded. */
struct thread *thread_inside(struct thread *t);

/* With --timer: samples the stack depth of the calling thread from now on. */
void thread_start_timer(struct thread *t);

#endif
