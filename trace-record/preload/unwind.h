/* SPDX-License-Identifier: MIT */
/*
 * The stack unwinder: which calls led here, exactly, many million times a second.
 *
 * Each thread keeps the stacks that it has seen twice. What a stack is: a tree of contexts. A context is a pc below its
 * caller's context, so the innermost frame's context stands for the whole stack. Where a stack is: a tree of nodes. A node
 * is a context at a place on the stack, below its caller's node, with the words that lead to the caller. Neither ever
 * changes. When there is no room for more nodes, all nodes are forgotten, and contexts stay. When there is no room for more
 * contexts, or code may have changed its meaning, contexts are forgotten, too, and their numbers begin anew.
 *
 * A capture guesses the node: the one that followed the present node the last time. It compares the memory that the frame
 * steps from that node outwards read with what they read then. Equal inputs give equal steps, so the result is
 * what a full walk would find: nothing is taken on trust. Where the guess fails, the capture walks (walk.h) until it
 * meets a frame of the path, compares the rest, and finds or makes the nodes of the inner frames.
 *
 * The thread whose stack it is calls these functions. They never allocate, lock, print or change errno (for new
 * objects see modules.h), use no thread-local storage, and need about 1.5 KiB of stack. A thread must not be
 * inside unwind_capture() twice: a signal handler that interrupts a capture must not capture, and must not leave by
 * longjmp.
 *
 * modules_init() comes first.
 */
#ifndef MSREC_UNWIND_H
#define MSREC_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registers.h"
#include "stack_counts.h"

#define UNWIND_ROOT 0u       /* the node, and the context, outside the outermost frame */
#define UNWIND_CUT 0xffffffu /* as a context's parent: the frames outside were not looked at */

/* A stack by its pcs alone. */
struct unwind_context {
	uintptr_t pc;    /* as the node's; of a script: where the frame is shown to be, plus 1 */
	uint32_t parent; /* the caller's context, UNWIND_ROOT, or UNWIND_CUT */
	uint32_t hash;   /* of all pcs from here outwards */
};

/* A frame. Files other than unwind.c read only `pc`, `parent`, `depth` and `context`. */
struct unwind_node {
	uintptr_t
		pc; /* return address, or where a signal interrupted; of a script: its interpreter's frame */
	uintptr_t sp, bp;               /* the frame's registers, before the step to its caller */
	uintptr_t return_at;            /* where the step finds parent's pc; 0: noted in reads */
	struct return_word return_word; /* what is there, where that is more than parent's pc */
	uintptr_t bp_at;  /* where it finds parent's bp, if that matters; 0: it doesn't, or in reads */
	uint32_t parent;  /* the caller's node */
	uint32_t depth;   /* frames up to and with this one; 1: outermost */
	uint32_t reads;   /* what else the step depends on begins here in stack->reads */
	uint32_t context; /* of a frame that stacks leave out: its caller's */
	uint16_t n_reads;
	uint16_t flags;
	uint16_t guess; /* the node that was captured after this one */
	uint16_t alive; /* of a stack with scripts: life_stamp() when all its code was alive last; 0: never */
};

/*
 * The frame's place as the trace has it: an address within the call instruction. In a frame that a signal interrupted it
 * is the pc minus one, too, as Valgrind shows it.
 */
static inline uintptr_t unwind_frame_pc(uintptr_t pc)
{
	return pc - 1;
}

static inline uintptr_t unwind_node_pc(const struct unwind_node *node)
{
	return unwind_frame_pc(node->pc);
}

/* One thread's. Files other than unwind.c only read, and set `emitted` and `counts`. */
struct unwind_stack {
	struct unwind_node *nodes;       /* by number; [UNWIND_ROOT] is none */
	struct unwind_context *contexts; /* by number; [UNWIND_ROOT] is none */
	uint32_t n_nodes, n_contexts;
	uint32_t emitted; /* contexts below this were; UNWIND_ROOT + 1 when all numbers have begun anew */
	struct stack_counts *counts;
	struct unwind_memory *memory;
};

static inline uint32_t unwind_context(const struct unwind_stack *stack, uint32_t node)
{
	return stack->nodes[node].context;
}

#define UNWIND_CAPACITY_MAX 65536u
#define UNWIND_CONTEXTS_PER_NODE 16u

/*
 * Bytes of zeroed, private, page-aligned memory for `capacity` nodes, a power of two, and 16 times as many contexts: about
 * 300 a node and 24 a context, touched as needed.
 */
size_t unwind_stack_bytes(uint32_t capacity);

/*
 * Makes an empty stack in that memory; also before another thread uses the memory. Of each stack the `wanted` innermost
 * frames matter, at most capacity / 4. Frames further out may be missing, or be those of an earlier capture.
 */
struct unwind_stack *unwind_stack_init(void *memory, uint32_t capacity, uint32_t wanted);

/* Captures the present stack and returns its innermost frame's node. */
uint32_t unwind_capture(struct unwind_stack *stack, const struct unwind_regs *regs);

/* Whether a signal interrupted any frame of the stack of a node. */
bool unwind_interrupted(const struct unwind_stack *stack, uint32_t node);

#endif
