/* SPDX-License-Identifier: MIT */
/* The registers that the kernel saves for a signal handler (ucontext_t). */
#ifndef PRELOAD_MACHINE_CONTEXT_H
#define PRELOAD_MACHINE_CONTEXT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "cfi_registers.h"

/* The interrupted stack pointer; `context` is the third argument of a signal handler. */
static inline uintptr_t context_sp(const void *context)
{
	const ucontext_t *interrupted = context;

	return (uintptr_t)interrupted->uc_mcontext.sp;
}

/* Where, from the stack pointer that a handler returns with, the kernel has put the context: behind a siginfo_t. */
#define CONTEXT_AT sizeof(siginfo_t)

/* The registers that a walk through a handler's end finds there, beside CFI_FOLLOWED: x0 to x30. */
#define CONTEXT_OTHERS ((CFI_BIT(CFI_STACK_POINTER) - 1) & ~CFI_FOLLOWED)

/* Where a register stands behind the start of a ucontext_t. */
static inline uintptr_t context_offset(unsigned reg)
{
	return reg == CFI_PC   ? offsetof(ucontext_t, uc_mcontext.pc)
	       : reg == CFI_SP ? offsetof(ucontext_t, uc_mcontext.sp)
			       : offsetof(ucontext_t, uc_mcontext.regs) + sizeof(uint64_t) * reg;
}

#endif
