/* SPDX-License-Identifier: MIT */
/*
 * What a watched system call (sites.h) comes to: all registers are kept but those that the kernel changes,
 * too, and entry_call() makes the call.
 */
#ifndef PRELOAD_TRAMPOLINE_H
#define PRELOAD_TRAMPOLINE_H

#include <stdint.h>

/* How the program stood before the system call. */
struct entry_state {
	long number; /* rax */
	long arguments[6];
	uintptr_t bx, bp, flags;
	uintptr_t returns; /* to the piece of code that called us */
};

/* Where the address behind the system call's instruction stands, from `returns` on. */
#define ENTRY_SITE_AT 24u

/* The stack pointer that the program had. */
static inline uintptr_t entry_sp(const struct entry_state *state)
{
	return (uintptr_t)(state + 1) + 128;
}

static inline uintptr_t entry_pc(const struct entry_state *state)
{
	return *(const uintptr_t *)(state->returns + ENTRY_SITE_AT);
}

/* Finds out what registers this CPU has; before the first call comes in. */
void entry_init(void);

/* Called by the pieces of code alone. */
void syscall_patch_entry(void);

/* Makes the call and returns what the kernel does: pages.c. */
long entry_call(const struct entry_state *state);

#endif
