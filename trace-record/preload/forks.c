/* SPDX-License-Identifier: MIT */
/* Forks are seen by handlers that libc's fork() calls; _Fork() calls no handlers and is replaced. */
#include "forks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "export.h"
#include "next_malloc.h"
#include "recorder.h"

EXPORT pid_t fork(void);
EXPORT pid_t _Fork(void);
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *dso);

static bool ready(void)
{
	return next_ready || next_resolve();
}

void forks_begin(void)
{
	static _Atomic bool done;

	if (next.register_atfork && !atomic_exchange(&done, true))
		next.register_atfork(recorder_before_fork, recorder_forked, recorder_after_fork, NULL);
}

/*
 * pthread_atfork() calls this. The handlers registered first run last before a fork and first behind it. The recorder's must
 * be these: another handler may wait for a lock whose owner waits at the fork barrier.
 */
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void), void *dso)
{
	if (!ready() || !next.register_atfork)
		return ENOMEM;
	forks_begin();
	return next.register_atfork(before, in_parent, in_child, dso);
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
