/* SPDX-License-Identifier: MIT */
/* The registers that the kernel saves for a signal handler (ucontext_t). */
#ifndef PRELOAD_MACHINE_CONTEXT_H
#define PRELOAD_MACHINE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The interrupted stack pointer; `context` is the third argument of a signal handler. */
static inline uintptr_t context_sp(const void *context)
{
	const ucontext_t *interrupted = context;

	return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
}

/* Where pc, sp and bp, in this order, stand behind the start of a ucontext_t. */
#define CONTEXT_REGISTERS 3u
static inline uintptr_t context_offset(unsigned i)
{
	static const uint8_t registers[CONTEXT_REGISTERS] = { REG_RIP, REG_RSP, REG_RBP };

	return offsetof(ucontext_t, uc_mcontext.gregs) + sizeof(greg_t) * registers[i];
}

#endif
