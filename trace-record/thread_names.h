/* SPDX-License-Identifier: MIT */
/*
 * The names of a process's threads. A program's own calls send them through the rings, in their order; msrec reads from /proc
 * what a thread is called at its beginning, and once a second what the calls did not tell.
 */
#ifndef TRACE_RECORD_THREAD_NAMES_H
#define TRACE_RECORD_THREAD_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shm.h"

/* A name that came for a thread before the thread itself. */
struct early_name {
	uint64_t pointer; /* pthread_t; 0: none */
	char name[SHM_NAME_BYTES];
};

#define EARLY_NAMES 64u

/* Zero-initialise. */
struct early_names {
	struct early_name items[EARLY_NAMES];
	uint32_t next; /* to be overwritten */
};

void early_names_add(struct early_names *names, uint64_t pointer, const char name[SHM_NAME_BYTES]);

/* Takes the name; false: there is none. */
bool early_names_take(struct early_names *names, uint64_t pointer, char name[SHM_NAME_BYTES]);

/*
 * What a thread is called now. `number` is the process's id in its own namespace, `tid` the thread's. False: it is gone, or
 * its name cannot be read.
 */
bool thread_name_read(pid_t pid, uint32_t number, uint32_t tid, char name[SHM_NAME_BYTES]);

#endif
