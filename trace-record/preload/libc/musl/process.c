/* SPDX-License-Identifier: MIT */
#include "libc/libc_calls.h"

#include <errno.h>
#include <stdbool.h>

#include "exit.h"
#include "export.h"
#include "forks.h"
#include "next_malloc.h"
#include "recorder.h"

EXPORT int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

static bool ready(void)
{
	return next_ready || next_resolve();
}

/* ---- forks ---- */

/* musl 1.2.3 takes memory by malloc(): here from the arena, as that is none of the program's calls. */
void libc_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
	next_ready = false;
	next.pthread_atfork(before, in_parent, in_child);
	next_ready = true;
}

EXPORT int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
	if (!ready())
		return ENOMEM;
	forks_begin();
	return next.pthread_atfork(before, in_parent, in_child);
}

/* ---- exit ---- */

/*
 * musl calls exit handlers before destructors, and gives them no status. The first library's destructors come last; that with a
 * priority comes behind the recorder's others.
 */
static bool watching;

void libc_watch_exit(void)
{
	watching = true;
}

static __attribute__((destructor(101))) void at_exit(void)
{
	if (!watching)
		return;
	recorder_note_end();
	exit_free_resources(CALLER_REGS(), false);
}

/* exit(), called by that name so that it is a jump, and no frame of the recorder's is in stacks. main()'s own return is not seen. */
EXPORT void exit_with(int status) __asm__("exit");
EXPORT void exit_with(int status)
{
	if (ready())
		recorder_note_exit(status);
	next.exit(status);
}

/* musl has nothing that __libc_freeres() would free, and libstdc++ writes no buffers. */
void libc_discard_buffers(void)
{
}
