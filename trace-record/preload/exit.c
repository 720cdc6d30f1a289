/* SPDX-License-Identifier: MIT */
/*
 * Beginning and end of a recorded process: the start mark, the removal of our traces from the
 * environment, fork marks, and at a normal exit what Valgrind does there: libstdc++'s and libc's
 * own functions that free what those libraries keep to the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"
#include "os.h"
#include "real.h"
#include "recorder.h"
#include "shm.h"

extern void __libc_freeres(void) __attribute__((weak));
/* __gnu_cxx::__freeres() of libstdc++. */
extern void _ZN9__gnu_cxx9__freeresEv(void) __attribute__((weak));

extern char **environ;
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso);
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *dso);

static void free_resources(void *unused)
{
	static _Atomic bool done;
	bool libc, cxx;

	(void)unused;
	/* Other threads may still use what would be freed; Valgrind has stopped them, we cannot. */
	if (!recorder_freeres_wanted(&libc, &cxx) || !(libc || cxx) || os_threads() != 1 ||
	    atomic_exchange(&done, true))
		return;
	real_ending = true;
	if (cxx && _ZN9__gnu_cxx9__freeresEv)
		_ZN9__gnu_cxx9__freeresEv();
	if (libc && __libc_freeres)
		__libc_freeres();
	real_ending = false;
}

static void free_resources_quickly(void)
{
	free_resources(NULL);
}

/* exit() and quick_exit() end in handlers registered below; these are the other ways to end normally. */
EXPORT __attribute__((noreturn)) void _exit(int status)
{
	if (!real_ready)
		real_resolve();
	free_resources(NULL);
	real.exit_now(status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

/* Once. */
static void register_own_handlers(void)
{
	static _Atomic bool done;

	if (real.register_atfork && !atomic_exchange(&done, true))
		real.register_atfork(recorder_before_fork, recorder_forked, recorder_after_fork, NULL);
}

/*
 * What pthread_atfork() calls. The handlers that are registered first are the last ones before a fork, and the first ones
 * behind it: ours must be those, because others may wait there for what a thread has that waits for the fork.
 */
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void), void *dso)
{
	if (!real_ready && !real_resolve())
		return ENOMEM;
	register_own_handlers();
	return real.register_atfork(before, in_parent, in_child, dso);
}

/* Drops "NAME=value" from the environment, in place. */
static void drop_variable(const char *name)
{
	const size_t n = strlen(name);
	char **to = environ;

	for (char **from = environ; *from; from++) {
		if (strncmp(*from, name, n) != 0 || (*from)[n] != '=')
			*to++ = *from;
	}
	*to = NULL;
}

/* Takes this library out of LD_PRELOAD and leaves what else is there. */
static void drop_preload(void)
{
	char *value = getenv("LD_PRELOAD"), *own = value, *rest;

	/* msrec has put it first. */
	if (!own || !strstr(own, "libmsrec.so"))
		return;
	rest = own + strcspn(own, ": ");
	rest += strspn(rest, ": ");
	if (*rest)
		memmove(value, rest, strlen(rest) + 1);
	else
		drop_variable("LD_PRELOAD");
}

static __attribute__((constructor)) void begin(void)
{
	bool trace_children = false;

	if (!real_ready)
		real_resolve();
	recorder_mark(MST_OP_START);
	recorder_start_samples();
	/*
	 * Exit handlers run last in, first out, and the loader's own, which runs all destructors, is
	 * registered after this one: so this comes after every destructor, in the middle of exit().
	 */
	__cxa_atexit(free_resources, NULL, NULL);
	at_quick_exit(free_resources_quickly);
	register_own_handlers();
	if (!recorder_traces_children(&trace_children) || trace_children)
		return;
	drop_preload();
	drop_variable(SHM_ENV);
}

static __attribute__((destructor)) void end(void)
{
	recorder_mark(MST_OP_EXIT);
}
