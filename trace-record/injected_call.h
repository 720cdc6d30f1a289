/* SPDX-License-Identifier: MIT */
/*
 * Has a stopped thread of another process call functions, on a stack of their own, and go on as if nothing had happened: its
 * registers, vector registers, signal mask and errno, and the system call that the stop has interrupted, are as before.
 *
 * A call returns to where signal handlers return to, with a frame on the stack as the kernel makes one for a handler. There
 * msrec stops the thread before it makes the system call that restores it (sigreturn), and restores it itself. If msrec is
 * gone by then, the thread makes that call. So msrec may die at any time; no byte of the program's code is changed for a
 * call, and no signal is made.
 */
#ifndef TRACE_RECORD_INJECTED_CALL_H
#define TRACE_RECORD_INJECTED_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "ptrace_threads.h"
#include "target.h"

#define HOST_XSTATE_MOST 16384u

/* Code of libc. */
struct host_functions {
	uint64_t restorer;       /* mov $15, %rax; syscall */
	uint64_t mmap, syscall;  /* functions */
	uint64_t errno_location; /* __errno_location() */
};

struct host {
	struct target *target;
	pid_t tid;
	struct host_functions functions;
	uint64_t stub;  /* the code that calls return to; 0: not mapped, they return to the restorer */
	uint64_t stack; /* the mapped one; 0: not mapped, calls have the thread's own */
	uint64_t scratch_used;
	struct user_regs_struct saved;
	uint64_t mask; /* of signals */
	_Alignas(64) uint8_t xstate[HOST_XSTATE_MOST];
	size_t xstate_bytes;
	uint64_t errno_at;
	int error_number; /* the thread's errno */
	bool held;        /* what was saved is to be restored */
	bool lost;        /* the thread, or its process, is gone */
	bool abandoned;   /* a call was cut off, and what it had begun stays so */
	int fault;        /* the signal that cut it off; 0: none */
};

/* Takes over a stopped thread. False: it cannot be used; host_release() follows in any case. */
bool host_hold(struct host *host, struct target *target, const struct stopped_thread *thread,
	       const struct host_functions *functions);

/* A system call with at most four arguments; the kernel's result, or -ESRCH if the thread is gone. */
int64_t host_syscall(struct host *host, long number, const uint64_t arguments[4]);

/* Copies bytes to where functions can read them. Returns their address; 0: no room. */
uint64_t host_copy(struct host *host, const void *bytes, size_t n);

/*
 * Calls a function with at most six arguments. The other threads must run, because they may hold a lock that it wants.
 * False: it has not returned. As long as it has done nothing but wait for a lock, it is given up after `ms` and has changed
 * nothing. A call that has done more gets twenty times as long, and is abandoned then, or when it faults.
 */
bool host_call(struct host *host, uint64_t function, const uint64_t arguments[6], unsigned ms,
	       uint64_t *result);

/* Restores the thread and lets it go. */
void host_release(struct host *host);

#endif
