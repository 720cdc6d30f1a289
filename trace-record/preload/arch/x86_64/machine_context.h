/* SPDX-License-Identifier: MIT */
/* The registers that the kernel saves for a signal handler (ucontext_t). */
#ifndef PRELOAD_MACHINE_CONTEXT_H
#define PRELOAD_MACHINE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "cfi_registers.h"

/* The interrupted stack pointer; `context` is the third argument of a signal handler. */
static inline uintptr_t context_sp(const void *context)
{
	const ucontext_t *interrupted = context;

	return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
}

/* Where, from the stack pointer that a handler returns with, the kernel has put the context. */
#define CONTEXT_AT 0u

/* The registers that a walk through a handler's end finds there, beside CFI_FOLLOWED. */
#define CONTEXT_OTHERS ((cfi_set)0)

/* Where a register stands behind the start of a ucontext_t. */
static inline uintptr_t context_offset(unsigned reg)
{
	return offsetof(ucontext_t, uc_mcontext.gregs) + sizeof(greg_t) * (reg == CFI_PC   ? REG_RIP
									   : reg == CFI_SP ? REG_RSP
											   : REG_RBP);
}

#endif
