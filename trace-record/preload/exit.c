/* SPDX-License-Identifier: MIT */
/*
 * Beginning and end of a recorded process: the start marker; the removal of the recorder from the environment; and at a
 * normal exit, as under Valgrind, the functions of libstdc++ and libc that free what these libraries keep to the end.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "export.h"
#include "forks.h"
#include "libc/libc_calls.h"
#include "linked.h"
#include "next_malloc.h"
#include "os.h"
#include "recorder.h"
#include "shm.h"

extern void __libc_freeres(void) __attribute__((weak));
/* __gnu_cxx::__freeres() of libstdc++. */
extern void _ZN9__gnu_cxx9__freeresEv(void) __attribute__((weak));

void exit_free_resources(const struct unwind_regs *regs, bool quickly)
{
	static _Atomic bool done;
	bool libc, cxx;

	/* Other threads may still use the memory. Valgrind has stopped them; the recorder cannot. */
	if (!recorder_freeres_wanted(&libc, &cxx, regs) || !(libc || cxx) || os_threads() != 1 ||
	    atomic_exchange(&done, true))
		return;
	if (quickly)
		libc_discard_buffers();
	next_ending = true;
	if (cxx && _ZN9__gnu_cxx9__freeresEv)
		_ZN9__gnu_cxx9__freeresEv();
	if (libc && __libc_freeres)
		__libc_freeres();
	next_ending = false;
}

static void quick_exit_handler(void)
{
	exit_free_resources(CALLER_REGS(), true);
}

/* The other ways to end normally than exit() and quick_exit(). */
EXPORT __attribute__((noreturn)) void _exit(int status)
{
	if (!next_ready)
		next_resolve();
	recorder_note_exit(status);
	exit_free_resources(CALLER_REGS(), true);
	next.exit_now(status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

/*
 * Drops "NAME=value" from the environment, in place. Earlier entries move up, because some programs look for the auxiliary
 * vector behind the end.
 */
static void drop_variable(const char *name)
{
	const size_t n = strlen(name);

	for (char **at = environ; *at; at++) {
		if (strncmp(*at, name, n) != 0 || (*at)[n] != '=')
			continue;
		memmove(environ + 1, environ, (size_t)(at - environ) * sizeof(*at));
		environ++;
	}
}

/* Takes the recorder's libraries, which msrec has put first, out of LD_PRELOAD. */
static void drop_preload(void)
{
	char *value = getenv("LD_PRELOAD"), *rest = value;

	while (rest && *rest) {
		const size_t n = strcspn(rest, ": ");

		if (!memmem(rest, n, "/libmsrec", 9))
			break;
		rest += n + strspn(rest + n, ": ");
	}
	if (!value || rest == value)
		return;
	if (*rest)
		memmove(value, rest, strlen(rest) + 1);
	else
		drop_variable("LD_PRELOAD");
}

/* Some programs take what lies behind the arguments for the environment: fills the freed entries with the first one. */
static void drop_ours(void)
{
	char **at = environ;

	drop_preload();
	drop_variable(SHM_ENV);
	while (at < environ)
		*at++ = *environ ? *environ : (char *)"";
}

/* Called by libmsrec-first.so, which lies there. */
EXPORT void msrec_first(const char *start, const char *end);
EXPORT void msrec_first(const char *start, const char *end)
{
	os_own((uintptr_t)start, (uint64_t)(end - start));
	if (!next_ready)
		next_resolve();
	entries_allow(linked_shape);
	recorder_begin();
}

static __attribute__((constructor)) void begin(void)
{
	bool trace_children = false;

	if (!next_ready)
		next_resolve();
	recorder_mark(MST_OP_START);
	recorder_start_samples();
	libc_watch_exit();
	at_quick_exit(quick_exit_handler);
	forks_begin();
	if (!recorder_traces_children(&trace_children) || trace_children)
		return;
	drop_ours();
}

static __attribute__((destructor)) void end(void)
{
	recorder_mark(MST_OP_EXIT);
}
