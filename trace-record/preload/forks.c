/* SPDX-License-Identifier: MIT */
/* Forks are seen by handlers that libc's fork() calls; _Fork() calls no handlers and is replaced. */
#include "forks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "export.h"
#include "libc/libc_calls.h"
#include "next_malloc.h"
#include "recorder.h"

EXPORT pid_t fork(void);
EXPORT pid_t _Fork(void);

static bool ready(void)
{
	return next_ready || next_resolve();
}

void forks_begin(void)
{
	static _Atomic bool done;

	if (ready() && !atomic_exchange(&done, true))
		libc_at_fork(recorder_before_fork, recorder_forked, recorder_after_fork);
}

/* Handlers do not learn that there is no child. */
EXPORT pid_t fork(void)
{
	pid_t pid;

	if (!ready())
		return -1;
	pid = next.fork();
	if (pid < 0)
		recorder_fork_failed();
	return pid;
}

/* Calls no handlers. */
EXPORT pid_t _Fork(void)
{
	pid_t pid;

	if (!ready() || !next.fork_only)
		return -1;
	recorder_before_fork();
	pid = next.fork_only();
	if (pid == 0) {
		recorder_after_fork();
		return pid;
	}
	recorder_forked();
	if (pid < 0)
		recorder_fork_failed();
	return pid;
}
