/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include "modules.h"

/* A stack pointer this far from the thread's others belongs to another stack: a handler's, a coroutine's. */
#define STACK_MOST ((uintptr_t)256 << 20)

#define OPERANDS_MAX 4u /* address, old address, alignment, usable size */

/* ---- records ---- */

/* The general record; `wide` is used with SHM_WIDE. False: there is no room. */
static inline bool emit_record(struct thread *t, uint64_t head, uint64_t wide, const uint64_t *operands,
			       unsigned n)
{
	struct producer *r = &t->out;
	uint64_t *const start = ring_reserve(r, SHM_RECORD_WORDS);
	uint64_t *w;

	RECORDER_ASSERT(t->inside == EMITTING && n <= OPERANDS_MAX);
	if (!start)
		return false;
	w = start + 1;
	if (ring_wants_stamp(r)) {
		head |= (uint64_t)SHM_STAMPED << 8;
		*w++ = ring_stamp(r);
	}
	if (SHM_FLAGS(head) & SHM_WIDE)
		*w++ = wide;
	w = ring_put_operands(w, operands, n);
	*start = head;
	RECORDER_ASSERT(shm_words(head) == (unsigned)(w - start));
	ring_publish(r, (uint32_t)(w - start));
	return true;
}

__attribute__((noinline)) bool emit_value(struct thread *t, uint8_t op, uint8_t flags, uint64_t value,
					  const uint64_t *operand)
{
	if (shm_is_wide(value))
		flags |= SHM_WIDE;
	return emit_record(t, shm_head(op, flags, value), value, operand, operand ? 1 : 0);
}

bool emit_part(struct thread *t, uint8_t op, uint64_t value, const char text[EMIT_TEXT_BYTES])
{
	const uint8_t flags = shm_is_wide(value) ? SHM_WIDE : 0;
	uint64_t words[2];

	_Static_assert(sizeof(words) == EMIT_TEXT_BYTES && EMIT_TEXT_BYTES == SHM_NAME_BYTES &&
			       EMIT_TEXT_BYTES == SHM_MARK_BYTES,
		       "a text is two words");
	__builtin_memcpy(words, text, sizeof(words));
	return emit_record(t, shm_head(op, flags, value), value, words, 2);
}

/* A signal handler may add to the losses meanwhile. */
__attribute__((noinline)) bool emit_losses_due(struct thread *t)
{
	uint64_t losses;

	ring_trust(&t->out);
	losses = t->out.losses;
	if (losses == t->out.emitted_losses)
		return true;
	if (!emit_value(t, MST_OP_LOST, 0, losses - t->out.emitted_losses, NULL))
		return false;
	t->out.emitted_losses = losses;
	return true;
}

/* ---- calls ---- */

/* A context's definition. False: there is no room. */
static inline bool emit_context(struct thread *t, uint32_t number)
{
	const struct unwind_context *context = &t->stack->contexts[number];
	const uint64_t pc = unwind_frame_pc(context->pc), value = shm_call_value(number, context->parent);
	uint64_t *const w = ring_reserve_plain(&t->out);

	/* A parent's number is lower than its context's, so parent chains are finite. */
	RECORDER_ASSERT(context->parent < number || context->parent == UNWIND_CUT);
	if (__builtin_expect(!w, 0))
		return emit_value(t, SHM_OP_NODE, 0, value, &pc);
	ring_put(&t->out, w, shm_head(SHM_OP_NODE, 0, value), &pc, 1);
	return true;
}

/*
 * Emits definitions of contexts not yet emitted; stamped when the module table changed, because the same pc may now be
 * other code.
 */
static __attribute__((noinline)) bool emit_contexts(struct thread *t)
{
	const uint64_t modules = atomic_load_explicit(&modules_state, memory_order_relaxed);
	struct unwind_stack *stack = t->stack;

	_Static_assert(UNWIND_CUT == SHM_CUT, "contexts are the ring's nodes");
	if (modules != t->modules) {
		t->modules = modules;
		t->out.stamp_due = t->out.limit = 0;
	}
	for (; stack->emitted < stack->n_contexts; stack->emitted++) {
		if (!emit_context(t, stack->emitted))
			return false;
	}
	return true;
}

__attribute__((noinline)) void emit_call(struct thread *t, const struct call *call, size_t usable,
					 uint32_t node)
{
	uint64_t operands[OPERANDS_MAX], *w = operands;
	uint8_t flags = shm_is_wide_size(call->size) ? SHM_WIDE : 0;

	RECORDER_ASSERT(node < t->stack->n_nodes);
	*w++ = (uintptr_t)call->result;
	if (shm_operands((uint8_t)call->op) == 2)
		*w++ = (uintptr_t)call->old;
	if (call->align_log2) {
		flags |= SHM_ALIGNED;
		*w++ = call->align_log2;
	}
	if (usable) {
		flags |= SHM_USABLE;
		*w++ = usable;
	}
	if (!call->result)
		flags |= SHM_FAILED;
	if (call->overflow)
		flags |= SHM_OVERFLOW;
	if (call->invalid)
		flags |= SHM_INVALID;
	if (call->op == MST_OP_RESIZEINPLACE && the_process.options.free_stacks)
		flags |= SHM_FREE_STACK;
	if (!emit_losses(t) || (t->stack->emitted != t->stack->n_contexts && !emit_contexts(t)) ||
	    !emit_record(t, emit_call_head(call, flags, unwind_context(t->stack, node)), call->size, operands,
			 (unsigned)(w - operands)))
		ring_lose(&t->out);
}

void emit_full_call(struct thread *t, const struct call *call, size_t usable, const struct unwind_regs *regs)
{
	const uint64_t count = emit_extras(t, regs->sp);

	emit_call(t, call, usable, unwind_capture(t->stack, regs));
	emit_end_extras(t, count);
}

/* A free without its stack. */
static bool emit_bare_free(struct thread *t, const struct call *call)
{
	const uint64_t address = (uintptr_t)call->result;
	uint64_t operands[2], *w = operands;
	uint8_t flags =
		(uint8_t)((call->overflow ? SHM_OVERFLOW : 0) | (shm_is_wide(address) ? SHM_WIDE : 0));

	if (call->align_log2) {
		flags |= SHM_ALIGNED;
		*w++ = call->align_log2;
	}
	if (call->size) {
		flags |= SHM_USABLE;
		*w++ = call->size;
	}
	return emit_record(t, shm_head((uint8_t)emit_free_op(call->op), flags, address), address, operands,
			   (unsigned)(w - operands));
}

void emit_free(struct thread *t, const struct call *call, const struct unwind_regs *regs)
{
	const uint64_t count = emit_extras(t, regs ? regs->sp : 0);
	struct call with_stack = *call;

	with_stack.size = 0;
	if (the_process.options.free_stacks)
		emit_call(t, &with_stack, call->size, unwind_capture(t->stack, regs));
	else if (!emit_losses(t) || !emit_bare_free(t, call))
		ring_lose(&t->out);
	emit_end_extras(t, count);
}

/* ---- extras ---- */

/* Measures how deep the stack is at `sp`; false if `sp` is not on the thread's stack. */
static bool measure_depth(struct thread_extras *extras, uintptr_t sp, uint64_t *depth)
{
	if (!extras->top || (sp > extras->top && sp - extras->top < STACK_MOST))
		extras->top = sp;
	*depth = extras->top - sp;
	return sp <= extras->top && *depth < STACK_MOST;
}

/* If there is no room for the record, the next event will have one. */
static void emit_depth(struct thread *t, uint64_t depth)
{
	if (depth != t->extras.emitted_depth && emit_losses(t) && emit_value(t, MST_OP_STACK, 0, depth, NULL))
		t->extras.emitted_depth = depth;
}

static void emit_count(struct thread *t, uint64_t count)
{
	if (count > t->extras.counted && emit_losses(t) &&
	    emit_value(t, SHM_OP_COUNT, 0, count - t->extras.counted, NULL))
		t->extras.counted = count;
}

uint64_t emit_extras(struct thread *t, uintptr_t sp)
{
	const uint8_t wanted = the_process.options.extras;
	uint64_t count = 0, depth;

	if (wanted & EXTRA_COUNT) {
		count = counter_read(&t->extras.counter);
		emit_count(t, count);
	}
	if (wanted & EXTRA_DEPTH && sp && measure_depth(&t->extras, sp, &depth))
		emit_depth(t, depth);
	return count;
}

void emit_end_extras(struct thread *t, uint64_t count)
{
	if (the_process.options.extras & EXTRA_COUNT)
		t->extras.counted += counter_read(&t->extras.counter) - count;
}
