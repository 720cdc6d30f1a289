/* SPDX-License-Identifier: MIT */
/*
 * Where patched system calls (syscall_patch.h) arrive: saves all registers but those that the kernel changes, too, and
 * has the handler make the call.
 */
#ifndef PRELOAD_TRAMPOLINE_H
#define PRELOAD_TRAMPOLINE_H

#include <stdint.h>

/* The registers before the system call. */
struct patched_call {
	long number; /* rax */
	long arguments[6];
	uintptr_t bx, bp, flags;
	uintptr_t returns; /* to the piece of code that called the trampoline */
};

/* Where the address behind the system call's instruction stands, from `returns` on. */
#define TRAMPOLINE_SITE_AT 24u

/* The stack pointer that the program had: behind the red zone. */
static inline uintptr_t patched_call_sp(const struct patched_call *call)
{
	return (uintptr_t)(call + 1) + 128;
}

static inline uintptr_t patched_call_pc(const struct patched_call *call)
{
	return *(const uintptr_t *)(call->returns + TRAMPOLINE_SITE_AT);
}

/* Makes the call and returns the kernel's result. */
typedef long trampoline_handler(const struct patched_call *call);

/* Before the first call comes in. Asks which registers this CPU has. */
void trampoline_begin(trampoline_handler *handler);

/* Called by the pieces of code alone. */
void trampoline(void);

#endif
