/* SPDX-License-Identifier: MIT */
/* How a process ended that is not msrec's child: the kernel tells its parent, and others in two narrow ways. */
#ifndef TRACE_RECORD_EXIT_STATUS_H
#define TRACE_RECORD_EXIT_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The status of a process that has ended, as waitpid() gives it. Either its parent has not waited for it yet, or the
 * kernel keeps the status for open pidfds, as Linux does from 6.15 on. False: neither.
 */
bool exit_status_read(int pidfd, pid_t pid, int *status);

/* The status, as waitpid(2) gives it, of a process that has exited with `code`. */
static inline int exit_status_of(int code)
{
	return code << 8;
}

#endif
