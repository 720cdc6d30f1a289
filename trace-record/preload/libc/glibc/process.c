/* SPDX-License-Identifier: MIT */
#include "libc/libc_calls.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>

#include "exit.h"
#include "export.h"
#include "forks.h"
#include "interpose.h"
#include "next_malloc.h"
#include "recorder.h"

/* Not in all versions' headers. */
EXPORT void cfree(void *p);
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *dso);

extern FILE *_IO_list_all; /* stdio's files */

static bool ready(void)
{
	return next_ready || next_resolve();
}

/* ---- allocation ---- */

EXPORT void cfree(void *p)
{
	if (interpose_freeing(&(struct call){ .op = MST_OP_FREE, .result = p }, CALLER_REGS()))
		next.free(p);
}

EXPORT void *pvalloc(size_t size)
{
	void *p;

	if (!ready())
		return next_arena_alloc(size, (size_t)1 << INTERPOSE_PAGE_LOG2);
	p = next.pvalloc(size);
	recorder_alloc(
		&(struct call){
			.op = MST_OP_PVALLOC, .align_log2 = INTERPOSE_PAGE_LOG2, .result = p, .size = size },
		CALLER_REGS());
	return p;
}

/* ---- forks ---- */

void libc_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
	if (next.register_atfork)
		next.register_atfork(before, in_parent, in_child, NULL);
}

/* pthread_atfork() calls this. See forks_begin(). */
EXPORT int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void), void *dso)
{
	if (!ready() || !next.register_atfork)
		return ENOMEM;
	forks_begin();
	return next.register_atfork(before, in_parent, in_child, dso);
}

/* ---- exit ---- */

static void exit_handler(int status, void *unused)
{
	(void)unused;
	recorder_note_exit(status);
	exit_free_resources(CALLER_REGS(), false);
}

/*
 * Exit handlers run last in, first out, and the loader's own, which runs all destructors, is registered after a
 * constructor's: so this one comes after every destructor, in the middle of exit().
 */
void libc_watch_exit(void)
{
	on_exit(exit_handler, NULL);
}

void libc_discard_buffers(void)
{
	for (FILE *f = _IO_list_all; f; f = f->_chain)
		__fpurge(f);
}
