/* SPDX-License-Identifier: MIT */
/* Sets up the state of a process: at its first event, and anew in a forked child. */
#ifndef PRELOAD_PROCESS_BEGIN_H
#define PRELOAD_PROCESS_BEGIN_H

#include "process_state.h"

/*
 * One thread sets up. NULL for other threads, and for a signal handler that comes in between: they go on unrecorded until
 * it is done. NULL also if recording is impossible, which is final.
 */
struct process *process_begin(void);

/* Sets where the events of a ring id go in this process. */
void process_place_thread(struct process *p, struct thread *t);

#endif
