/* SPDX-License-Identifier: MIT */
/*
 * Makes records of events and puts them into the calling thread's ring, between thread_begin_event() and
 * thread_end_event().
 *
 * A plain record (ring.h) is written inline. All others go through emit_record() in emit.c, which also emits what is due
 * before them. Both lay a record out by ring_put_operands() and publish it by ring_advance().
 */
#ifndef PRELOAD_EMIT_H
#define PRELOAD_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"
#include "ring.h"
#include "shm.h"
#include "thread_state.h"
#include "unwind.h"

/* A record with a value and at most one operand (NULL: none). False: there is no room. */
bool emit_value(struct thread *t, uint8_t op, uint8_t flags, uint64_t value, const uint64_t *operand);

/* A record with a value and EMIT_TEXT_BYTES of a text: a thread's name, or a part of a mark's. False: there is no room. */
#define EMIT_TEXT_BYTES 16u
bool emit_part(struct thread *t, uint8_t op, uint64_t value, const char text[EMIT_TEXT_BYTES]);

/* The slow half of emit_losses(). */
bool emit_losses_due(struct thread *t);

/* Losses become an event as soon as there is room again. False: there is none yet. */
static inline bool emit_losses(struct thread *t)
{
	return __builtin_expect(t->out.losses == t->out.emitted_losses, 1) || emit_losses_due(t);
}

/* A call whose stack is that of `node`; `usable`: the bytes that the allocator gave, 0 if unknown or not wanted. */
void emit_call(struct thread *t, const struct call *call, size_t usable, uint32_t node);

/* The same with the stack at `regs`, and the extras. */
void emit_full_call(struct thread *t, const struct call *call, size_t usable, const struct unwind_regs *regs);

/* A free. Without `regs`, which the stacks of frees need, no depth is measured. */
void emit_free(struct thread *t, const struct call *call, const struct unwind_regs *regs);

/* The op of a free whose stack is not recorded. */
static inline enum shm_op emit_free_op(enum mst_op op)
{
	return op == MST_OP_FREE           ? SHM_OP_FREE
	       : op == MST_OP_DELETE       ? SHM_OP_DELETE
	       : op == MST_OP_DELETE_ARRAY ? SHM_OP_DELETE_ARRAY
					   : SHM_OP_FREELIKE;
}

/*
 * Extras: the depth of the stack and the count of instructions, each a record before that of the event, if they are
 * wanted. `sp` is the caller's stack pointer, 0 if the event has none. What the counter counts up to emit_end_extras(),
 * which gets the result, is the recorder's own work.
 */
uint64_t emit_extras(struct thread *t, uintptr_t sp);
void emit_end_extras(struct thread *t, uint64_t count);

/* ---- plain records ---- */

static inline uint64_t emit_call_head(const struct call *call, uint8_t flags, uint32_t context)
{
	return shm_head((uint8_t)call->op, flags, shm_call_value(context, call->size));
}

/* An operation on an address, if its record is plain; else nothing is done. */
static inline bool emit_plain_address(struct thread *t, enum shm_op op, const void *p)
{
	uint64_t *const w = ring_reserve_plain(&t->out);

	if (__builtin_expect(!w || shm_is_wide((uintptr_t)p), 0))
		return false;
	ring_put(&t->out, w, shm_head((uint8_t)op, 0, (uintptr_t)p), NULL, 0);
	return true;
}

/* A free, if its record is plain: without alignment, of a known function; else nothing is done. */
static inline bool emit_plain_free(struct thread *t, enum mst_op op, const void *p, size_t size)
{
	uint64_t *const w = ring_reserve_plain(&t->out);
	const uint64_t given = size;

	if (__builtin_expect(!w || shm_is_wide((uintptr_t)p), 0))
		return false;
	ring_put(&t->out, w, shm_head((uint8_t)emit_free_op(op), size ? SHM_USABLE : 0, (uintptr_t)p), &given,
		 size != 0);
	return true;
}

/*
 * A call that gave a block, of an op with `operands` (1 or 2), without alignment and usable size: as emit_call(), but
 * quicker where the record is plain.
 */
static inline __attribute__((always_inline)) void
emit_block(struct thread *t, const struct call *call, unsigned operands, const struct unwind_regs *regs)
{
	const uint64_t words[RING_PLAIN_OPERANDS] = { (uintptr_t)call->result, (uintptr_t)call->old };
	const uint32_t node = unwind_capture(t->stack, regs);
	uint64_t *w;

	if (__builtin_expect(!shm_is_wide_size(call->size) && t->stack->emitted == t->stack->n_contexts &&
				     (w = ring_reserve_plain(&t->out)),
			     1))
		ring_put(&t->out, w, emit_call_head(call, 0, unwind_context(t->stack, node)), words,
			 operands);
	else
		emit_call(t, call, 0, node);
}

#endif
