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

/* Whether an msrec reads what the process emits. */
bool process_is_recorded(void);

/*
 * Forgets a recording that has ended, so that another can begin. No thread executes the recorder's code; one may come back
 * there from the function that it stands before, and finds recording off, which it is until the caller has changed
 * process_off. What threads have mapped stays where the kernel or libc may follow it: the owners of the rings.
 */
void process_forget(void);

/* Maps the family's memory at `path` for the next process_begin(). False: it is not there, or another version's. */
bool process_map_family(const char *path);

/* Sets where the events of a ring id go in this process. */
void process_place_thread(struct process *p, struct thread *t);

#endif
