/* SPDX-License-Identifier: MIT */
/*
 * How much memory a process has, read from outside: nothing of it costs the process anything but a look at its page tables
 * once a second, by the kernel.
 */
#ifndef TRACE_RECORD_MEMORY_USAGE_H
#define TRACE_RECORD_MEMORY_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "mstrace.h"

/* When the next sample of a process is due. Zero-initialise. */
struct memory_pace {
	uint64_t next_ns, next_detailed_ns;
	uint32_t taken;
};

/*
 * Takes a sample if one is due at `now`, in ns of any clock. *peak is the most that was ever resident, as the kernel noted
 * it, or 0. False: none is due, or the process has no memory of its own any more. The caller makes sure that `pid` is still
 * the process when the call has returned.
 */
bool memory_sample(struct memory_pace *pace, pid_t pid, uint64_t now, struct mst_memory_sample *sample,
		   uint64_t *peak);

/* The most that was resident so far, in bytes; 0: not known. */
uint64_t memory_peak(pid_t pid);

/* Whether a process, which may be a zombie, has waited for children of its own: their rusage is in its own, too. */
bool memory_has_children(pid_t pid);

#endif
