/* SPDX-License-Identifier: MIT */
/* How forks are seen: by handlers that libc calls, and where there are none, in the functions themselves. */
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
 * What pthread_atfork() calls. The handlers that are registered first are the last ones before a fork, and the first ones
 * behind it: ours must be those, because others may wait there for what a thread has that waits for the fork.
 */
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void), void *dso)
{
	if (!ready() || !next.register_atfork)
		return ENOMEM;
	forks_begin();
	return next.register_atfork(before, in_parent, in_child, dso);
}

/* The handlers aren't told that there is no child. */
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

/* Without handlers. */
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
