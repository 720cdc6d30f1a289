/* SPDX-License-Identifier: MIT */
/*
 * The registers that the unwinder follows from frame to frame, and how an exported function finds those of its caller.
 */
#ifndef PRELOAD_REGISTERS_H
#define PRELOAD_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The state of the program right after the intercepted call returned. */
struct unwind_regs {
	uintptr_t pc; /* the call's return address */
	uintptr_t sp; /* the call's CFA: the stack pointer after the return */
	uintptr_t bp; /* rbp of the caller */
};

/* Where code may be: below the kernel's half, at any byte. */
#define CODE_END ((uintptr_t)1 << 47)
#define CODE_ALIGN_LOG2 0

/* In code without tables: the frame pointer points to the caller's, above which are the return address and the caller's frame. */
#define FRAME_POINTER_FINDS_SP true

/* The return address that a word holds, which the function may have signed. */
static inline uintptr_t return_address(uintptr_t word)
{
	return word;
}

/* What is kept of such a word beside its return address: nothing, they are the same. */
struct return_word {
};

static inline struct return_word return_word_keep(uintptr_t word)
{
	(void)word;
	return (struct return_word){};
}

static inline uintptr_t return_word_load(struct return_word kept, uintptr_t address)
{
	(void)kept;
	return address;
}

/* Whether the word is the one that was kept, given that its return address is. */
static inline bool return_word_is(struct return_word kept, uintptr_t word)
{
	(void)kept;
	(void)word;
	return true;
}

/*
 * In an exported function that is compiled with a frame pointer: rbp points to the saved rbp, the return address is
 * above it.
 */
#define CALLER_FRAME() ((const uintptr_t *)__builtin_frame_address(0))
#define CALLER_SP() ((uintptr_t)(CALLER_FRAME() + 2))
#define CALLER_REGS()                                                                                        \
	(&(const struct unwind_regs){ .pc = CALLER_FRAME()[1], .sp = CALLER_SP(), .bp = CALLER_FRAME()[0] })

#endif
