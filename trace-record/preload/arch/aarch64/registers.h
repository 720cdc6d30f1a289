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
	uintptr_t bp; /* x29 of the caller */
};

/* Where code may be: below 2^48, beyond which nothing is mapped that was not asked for by its address. */
#define CODE_END ((uintptr_t)1 << 48)
#define CODE_ALIGN_LOG2 2

/* The frame record may lie anywhere in its frame: where the caller's begins, only tables say. */
#define FRAME_POINTER_FINDS_SP false

/*
 * The return address that a word holds, which the function may have signed: the signature is in the bits above the
 * address. What a walk reads it neither authenticates nor returns to.
 */
static inline uintptr_t return_address(uintptr_t word)
{
	return word & (CODE_END - 1);
}

/* What is kept of such a word beside its return address: all of it. */
struct return_word {
	uintptr_t word;
};

static inline struct return_word return_word_keep(uintptr_t word)
{
	return (struct return_word){ word };
}

static inline uintptr_t return_word_load(struct return_word kept, uintptr_t address)
{
	(void)address;
	return kept.word;
}

/* Whether the word is the one that was kept, given that its return address is. */
static inline bool return_word_is(struct return_word kept, uintptr_t word)
{
	return kept.word == word;
}

/*
 * In an exported function that is compiled with a frame pointer: x29 points to the frame record, which begins with the saved
 * x29. gcc has the CFA as a built-in function; clang does not know it on this processor.
 */
#define CALLER_FRAME() ((const uintptr_t *)__builtin_frame_address(0))
#define CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
#define CALLER_REGS()                                                                                        \
	(&(const struct unwind_regs){                                                                        \
		.pc = return_address(CALLER_FRAME()[1]), .sp = CALLER_SP(), .bp = CALLER_FRAME()[0] })

#endif
