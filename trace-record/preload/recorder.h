/* SPDX-License-Identifier: MIT */
/*
 * Turns calls of the program into events of the calling thread. Every function here may be called in any thread at any
 * time, signal handlers and vfork children included. No function prints, exits, allocates through malloc, changes errno
 * or waits without bound. When recording is off or impossible, each returns at once.
 */
#ifndef PRELOAD_RECORDER_H
#define PRELOAD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "mst_op.h"
#include "registers.h"

/* ---- blocks ---- */

/* After the real call returned; `regs` are the caller's (CALLER_REGS()). */
void recorder_alloc(const struct call *call, const struct unwind_regs *regs);

/* recorder_alloc() of a call that has only op, result (NULL = it failed) and size; `op` takes no old address. */
void recorder_block(enum mst_op op, const void *p, size_t size, const struct unwind_regs *regs);

/* The same of a realloc. */
void recorder_realloc(enum mst_op op, const void *p, const void *old, size_t size,
		      const struct unwind_regs *regs);

/* Before a realloc: `old` may be another thread's before the real call has returned. */
void recorder_moving(const void *old);

/* Before the real call; `p` is not NULL. */
void recorder_free(const struct call *call, const struct unwind_regs *regs);

/* Before a custom block goes; `p` is not NULL. */
void recorder_freelike(const void *p, const struct unwind_regs *regs);

/* After the custom block `p` has got the new size. */
void recorder_resizelike(const void *p, size_t size, const struct unwind_regs *regs);

/* free(NULL): counted only. */
void recorder_null_free(void);

/* ---- operators ---- */

/*
 * Around the real operator new. Between the two, the allocation that the operator makes is not recorded; others are,
 * such as those of a new-handler. enter returns false when the caller is itself such a part, or nothing is recorded;
 * then leave must not be called. leave records the call that enter was given, with its result; NULL = it failed
 * (and throws).
 */
bool recorder_new_enter(const struct call *call, const struct unwind_regs *regs);
void recorder_new_leave(const void *result);

/* The same for operator delete, whose inner free of `p` is not recorded. */
bool recorder_delete_enter(const struct call *call, const struct unwind_regs *regs);
void recorder_delete_leave(void);

/* ---- functions of an allocator in the program ---- */

/*
 * Around a function that allocates. `call` is as it is known before; that of a realloc has op REALLOC and the old block.
 * Between the two, the allocation and the free that the function makes by other functions of its allocator are not
 * recorded; others are. enter returns false when the caller is itself such a part, or nothing is recorded: then
 * recorder_linked_nested() follows, with the result. leave returns true, and records nothing, when the result lies within
 * a block that was recorded meanwhile. `usable`: the bytes that the allocator gave, 0 if unknown or not wanted.
 */
bool recorder_linked_enter(const struct call *call, const struct unwind_regs *regs);
bool recorder_linked_leave(const void *result, bool invalid, size_t usable);
void recorder_linked_nested(const struct call *call, size_t usable, const struct unwind_regs *regs);

bool recorder_wants_usable(void);

/* ---- pages ---- */

/* After a call of mmap or its like; `old_size` is mremap's, `sp` the caller's stack pointer. */
void recorder_map(enum mst_op op, bool failed, size_t old_size, size_t size, uintptr_t sp);

/*
 * After a call that has mapped or unmapped pages: an operation of mst_op_is_page(). The result is the address; `old` and
 * `old_size` are the arguments of a mremap. NULL instead of registers: the event has no stack.
 */
void recorder_page(const struct call *call, size_t old_size, const struct unwind_regs *regs);

/* ---- threads ---- */

/* A thread, by its pthread_t, has got another name. */
void recorder_thread_name(uint64_t pointer, const char *name);

/* ---- the process ---- */

/* Begins the process, if it has not begun. */
void recorder_begin(void);

/* Emits a marker. */
void recorder_mark(enum mst_op op);

/* A mark between the calling thread's events, for which the program has a name: the first SHM_MARK_MOST bytes of it. */
void recorder_named_mark(const char *name);

/* Switches recording on or off, between the calling thread's events. Without room for that it stays as it is. */
void recorder_switch(bool on);

/* Once, when the process begins: samples stack depths between the calls, if that is wanted. */
void recorder_start_samples(void);

/* Around the real dlclose(): what was known of unloaded code is void. */
void recorder_closing_begin(void);
void recorder_closing_end(void);

/* Around a fork, in its thread: other threads wait in between. */
void recorder_before_fork(void);
void recorder_forked(void);
void recorder_fork_failed(void); /* after recorder_forked(): there is no child */

/* In the child: claims its segment at once, so that msrec knows of the child. */
void recorder_after_fork(void);

/* Whether programs that this one executes are to be recorded; false if nothing is recorded. */
bool recorder_traces_children(bool *yes);

/* The process is about to exit: threads that have ended by now did so before it. */
void recorder_note_end(void);

/* The same, with its status, which the kernel may tell its parent alone. */
void recorder_note_exit(int status);

/*
 * Which clean-up functions are to be run at exit, called from where `regs` says. False: none. That is so where nothing is
 * recorded, and where the functions could wait for ever for a lock: its owner may be what a signal handler has
 * interrupted, or a thread that a fork left behind.
 */
bool recorder_freeres_wanted(bool *libc, bool *cxx, const struct unwind_regs *regs);

/* The process may have `address_space` bytes from now on: gives back the recorder's share beyond that. */
void recorder_leave_room(uint64_t address_space);

#endif
