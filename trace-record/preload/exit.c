/* SPDX-License-Identifier: MIT */
/*
 * Beginning and end of a recorded process: the start marker; the removal of the recorder from the environment; and at a
 * normal exit, as under Valgrind, the functions of libstdc++ and libc that free what these libraries keep to the end.
 */
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export.h"
#include "forks.h"
#include "linked.h"
#include "next_malloc.h"
#include "os.h"
#include "recorder.h"
#include "shm.h"

extern void __libc_freeres(void) __attribute__((weak));
/* __gnu_cxx::__freeres() of libstdc++. */
extern void _ZN9__gnu_cxx9__freeresEv(void) __attribute__((weak));

extern FILE *_IO_list_all; /* stdio's files */

/*
 * A process that ends by _exit() or quick_exit() discards stdio's buffers. libc's clean-up would write them, and seek files
 * that are shared with other processes back to what the program has read.
 */
static void discard_buffers(void)
{
	for (FILE *f = _IO_list_all; f; f = f->_chain)
		__fpurge(f);
}

static void free_resources(const struct unwind_regs *regs, bool quickly)
{
	static _Atomic bool done;
	bool libc, cxx;

	/* Other threads may still use the memory. Valgrind has stopped them; the recorder cannot. */
	if (!recorder_freeres_wanted(&libc, &cxx, regs) || !(libc || cxx) || os_threads() != 1 ||
	    atomic_exchange(&done, true))
		return;
	if (quickly)
		discard_buffers();
	next_ending = true;
	if (cxx && _ZN9__gnu_cxx9__freeresEv)
		_ZN9__gnu_cxx9__freeresEv();
	if (libc && __libc_freeres)
		__libc_freeres();
	next_ending = false;
}

static void exit_handler(int status, void *unused)
{
	(void)unused;
	recorder_note_exit(status);
	free_resources(CALLER_REGS(), false);
}

static void quick_exit_handler(void)
{
	free_resources(CALLER_REGS(), true);
}

/* exit() and quick_exit() end in handlers registered below; these are the other ways to end normally. */
EXPORT __attribute__((noreturn)) void _exit(int status)
{
	if (!next_ready)
		next_resolve();
	recorder_note_exit(status);
	free_resources(CALLER_REGS(), true);
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
	/*
	 * Exit handlers run last in, first out, and the loader's own, which runs all destructors, is
	 * registered after this one: so this comes after every destructor, in the middle of exit().
	 */
	on_exit(exit_handler, NULL);
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
