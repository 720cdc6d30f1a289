/* SPDX-License-Identifier: MIT */
/*
 * Turns a call into an event in the calling thread's ring. Everything here may be called in any
 * thread at any time, signal handlers and vfork children included; nothing prints, exits,
 * allocates through malloc, changes errno or waits without bound. When recording is off or
 * impossible every function returns at once.
 */
#ifndef PRELOAD_RECORDER_H
#define PRELOAD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mst_op.h"
#include "unwind.h"

/* One successful or failed allocating call, or a request about a custom block. */
struct call {
	enum mst_op op;
	uint8_t align_log2; /* requested alignment; 0 = none */
	bool overflow;      /* refused because a product overflowed; size is the wrapped one */
	const void *result; /* NULL = failed (or freed, for MST_OP_REALLOC_FREE) */
	const void *old;    /* of a realloc */
	size_t size;
};

/* Of an alignment as the allocator keeps it: at least a power of two. */
static inline uint8_t align_log2_of(size_t align)
{
	if (align > (size_t)1 << 62)
		return 63;
	return align > 1 ? (uint8_t)(64 - __builtin_clzl(align - 1)) : 0;
}

/*
 * After the real call returned. `regs` is the state of the program just after its call: the macro
 * below takes it in an exported function that is compiled with a frame pointer.
 */
void recorder_alloc(const struct call *call, const struct unwind_regs *regs);

#define CALLER_FRAME() ((const uintptr_t *)__builtin_frame_address(0))
#define CALLER_REGS()                                                                                        \
	(&(const struct unwind_regs){                                                                        \
		.pc = CALLER_FRAME()[1], .sp = (uintptr_t)(CALLER_FRAME() + 2), .bp = CALLER_FRAME()[0] })

/* The same for a call of an op without `old` that has nothing to tell but this; NULL = it failed. */
void recorder_block(enum mst_op op, const void *p, size_t size, const struct unwind_regs *regs);

/* The same for a realloc. */
void recorder_realloc(enum mst_op op, const void *p, const void *old, size_t size,
		      const struct unwind_regs *regs);

/* Before that: `old` may be another thread's before the real call has returned. */
void recorder_moving(const void *old);

/* Before the real call; `p` is not NULL. `regs` as above. */
void recorder_free(const void *p, const struct unwind_regs *regs);

/* Before a custom block goes; `p` is not NULL. */
void recorder_freelike(const void *p);

/* After a custom block, `p`, has become one of `size` bytes. */
void recorder_resizelike(const void *p, size_t size, const struct unwind_regs *regs);

/* free(NULL): counted only. */
void recorder_null_free(void);

/*
 * Around the real operator new. Between the two, the allocation that the operator makes is not
 * recorded; others are (a new-handler's, say). enter returns false when the caller is
 * itself such a part, or nothing is recorded: then leave must not be called. leave records the
 * call that enter was told of, with its result; NULL = it failed (and throws).
 */
bool recorder_new_enter(const struct call *call, const struct unwind_regs *regs);
void recorder_new_leave(const void *result);

/* The same for operator delete, whose inner free of `p` is not recorded. */
bool recorder_delete_enter(const void *p, const struct unwind_regs *regs);
void recorder_delete_leave(void);

/* In a signal handler: the program was interrupted with this stack pointer. */
void recorder_sample(uintptr_t sp);

/* Once, when the process begins: samples between the calls, if they are wanted. */
void recorder_start_samples(void);

/* A mark in the calling thread's events. */
void recorder_mark(enum mst_op op);

/* After a call of mmap or its like; `old_size` is mremap's, `sp` the caller's stack pointer. */
void recorder_map(enum mst_op op, bool failed, size_t old_size, size_t size, uintptr_t sp);

/*
 * After a call that has mapped or unmapped pages: an operation of mst_op_is_page(). The result is the
 * address; of a mremap `old` and `old_size` are what it was given. NULL instead of registers: it has no stack.
 */
void recorder_page(const struct call *call, size_t old_size, const struct unwind_regs *regs);

/* Around the real dlclose(): what was known of unloaded code is void. */
void recorder_closing_begin(void);
void recorder_closing_end(void);

/*
 * Around a fork, in its thread: other threads wait in between. And in the child: it gets its own segment at
 * once, so that msrec knows of it.
 */
void recorder_before_fork(void);
void recorder_forked(void);
void recorder_fork_failed(void); /* after that: there is no child */
void recorder_after_fork(void);

/* Whether programs that this one executes are to be recorded; false if nothing is recorded. */
bool recorder_traces_children(bool *yes);

/*
 * Which clean-up functions are to be run at exit, called from where `regs` says. False: none, as where nothing is recorded;
 * or where they could wait for ever for a lock: a signal handler may have interrupted who has it, or a fork left it behind.
 */
bool recorder_freeres_wanted(bool *libc, bool *cxx, const struct unwind_regs *regs);

#endif
