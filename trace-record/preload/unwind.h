/* SPDX-License-Identifier: MIT */
/*
 * The stack unwinder: which calls led here, exactly, many million times a second.
 *
 * Each thread keeps its last captured stack. A capture steps outwards from the caller, by rules
 * remembered for each pc, only until it meets a frame of that stack in the same state; then it
 * compares the memory that the remaining steps read with what they read last time. Equal inputs
 * give equal steps, so what is reused is what a full walk would have found: nothing is guessed.
 * Rules come from .eh_frame; code without (JIT compilers) is stepped over by frame pointers.
 *
 * Called inside the recorded program by the thread whose stack it is. Never allocates, locks,
 * prints or changes errno (for new objects see modules.h); uses no thread-local storage; needs
 * about 1.5 KiB of stack. A thread must not be inside unwind_capture() twice (a signal handler that
 * interrupts a capture must not capture, and must not leave by longjmp). Memory is read only
 * where a walk of a sound stack reads, and beyond what is known to be mapped only after asking
 * the kernel: broken stacks give short lists, not crashes.
 *
 * modules_init() comes first.
 */
#ifndef MSREC_UNWIND_H
#define MSREC_UNWIND_H

#include <stddef.h>
#include <stdint.h>

/* The state right after the intercepted call returned. */
struct unwind_regs {
	uintptr_t pc; /* its return address */
	uintptr_t sp; /* its CFA: the stack pointer after the return */
	uintptr_t bp; /* rbp of the caller */
};

/* A frame. The caller of this module reads `pc` alone. */
struct unwind_frame {
	uintptr_t pc;     /* return address - 1, which lies in the call; minus one, too, in a
				   frame that a signal interrupted: so Valgrind shows it */
	uintptr_t sp, bp; /* the frame's registers, before the step to its caller */
	uint32_t links;   /* links of the stack up to and with this frame's step */
	uint32_t flags;
};

struct unwind_stack;

#define UNWIND_CAPACITY_MIN 16

/* Bytes of (zeroed, private, page-aligned or at least 64-byte aligned) memory for a stack of
 * `capacity` frames, at least UNWIND_CAPACITY_MIN. About 200 bytes a frame, touched as needed. */
size_t unwind_stack_bytes(unsigned capacity);

/* Makes an empty stack in that memory. Also before the memory is used for another thread. */
void unwind_stack_init(struct unwind_stack *stack, unsigned capacity);

/* Captures the present stack, and returns how many leading (outermost) frames are the same as
 * after the previous capture; 0 when modules came or went since, as the same pcs may then mean
 * other code. Of a stack deeper than the capacity the outer part is left out: at least the
 * innermost capacity / 2 frames are there. */
unsigned unwind_capture(struct unwind_stack *stack, const struct unwind_regs *regs);

/* The stack last captured, outermost frame first. */
unsigned unwind_stack_depth(const struct unwind_stack *stack);
const struct unwind_frame *unwind_stack_frames(const struct unwind_stack *stack);

#endif
