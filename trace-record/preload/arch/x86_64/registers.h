/* SPDX-License-Identifier: MIT */
/*
 * The registers that the unwinder follows from frame to frame, and how an exported function finds those of its caller.
 */
#ifndef PRELOAD_REGISTERS_H
#define PRELOAD_REGISTERS_H

#include <stdint.h>

/* The state of the program right after the intercepted call returned. */
struct unwind_regs {
	uintptr_t pc; /* the call's return address */
	uintptr_t sp; /* the call's CFA: the stack pointer after the return */
	uintptr_t bp; /* rbp of the caller */
};

/*
 * In an exported function that is compiled with a frame pointer: rbp points to the saved rbp, the return address is
 * above it.
 */
#define CALLER_FRAME() ((const uintptr_t *)__builtin_frame_address(0))
#define CALLER_SP() ((uintptr_t)(CALLER_FRAME() + 2))
#define CALLER_REGS()                                                                                        \
	(&(const struct unwind_regs){ .pc = CALLER_FRAME()[1], .sp = CALLER_SP(), .bp = CALLER_FRAME()[0] })

#endif
