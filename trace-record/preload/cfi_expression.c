/* SPDX-License-Identifier: MIT */
#include "cfi_expression.h"

#include <dwarf.h>

#include "cfi_read.h"

/* An expression that takes more operations than this is a loop. */
#define EXPRESSION_OPERATIONS_MAX 1000

enum cfi_result cfi_read_register(struct cfi_step *step, uint64_t reg, bool link, uint64_t *value)
{
	*value = 0;
	if (reg >= CFI_REGISTERS)
		return CFI_FAILED;
	if (!(step->state->known & CFI_BIT(reg)))
		return CFI_NEEDS_REGISTER;
	if (link)
		step->used |= CFI_BIT(reg);
	*value = step->state->value[reg];
	return CFI_OK;
}

/* An expression being evaluated. */
struct machine {
	struct cfi_step *step;
	uint64_t *stack;
	unsigned depth;
	bool link;
	enum cfi_result result; /* CFI_OK until something fails */
};

static void fail(struct machine *m, enum cfi_result why)
{
	if (m->result == CFI_OK)
		m->result = why;
}

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == CFI_STACK)
		fail(m, CFI_FAILED);
	else
		m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->depth == 0) {
		fail(m, CFI_FAILED);
		return 0;
	}
	return m->stack[--m->depth];
}

static uint64_t pick(struct machine *m, uint64_t index)
{
	if (index >= m->depth) {
		fail(m, CFI_FAILED);
		return 0;
	}
	return m->stack[m->depth - 1 - index];
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	uint64_t value;
	enum cfi_result result = cfi_read_register(m->step, reg, m->link, &value);

	if (result != CFI_OK)
		fail(m, result);
	push(m, value + (uint64_t)offset);
}

static void dereference(struct machine *m, uint64_t bytes)
{
	uint64_t value = 0, address = pop(m);

	if (m->result != CFI_OK)
		return;
	if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) ||
	    !m->step->read(m->step->context, address, (unsigned)bytes, m->link, &value))
		fail(m, CFI_FAILED);
	push(m, value);
}

static void divide(struct machine *m, bool modulo)
{
	uint64_t by = pop(m), value = pop(m);

	if (by == 0)
		fail(m, CFI_FAILED);
	else if (modulo)
		push(m, value % by);
	else if (by == ~(uint64_t)0)
		push(m, -value);
	else
		push(m, (uint64_t)((int64_t)value / (int64_t)by));
}

static void rotate(struct machine *m)
{
	uint64_t first = pop(m), second = pop(m), third = pop(m);

	push(m, first);
	push(m, third);
	push(m, second);
}

static void swap(struct machine *m)
{
	uint64_t first = pop(m), second = pop(m);

	push(m, first);
	push(m, second);
}

/* Operations on the two topmost values. */
static void run_binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m);

	switch (op) {
	case DW_OP_and:
		push(m, a & b);
		break;
	case DW_OP_minus:
		push(m, a - b);
		break;
	case DW_OP_mul:
		push(m, a * b);
		break;
	case DW_OP_or:
		push(m, a | b);
		break;
	case DW_OP_plus:
		push(m, a + b);
		break;
	case DW_OP_shl:
		push(m, b < 64 ? a << b : 0);
		break;
	case DW_OP_shr:
		push(m, b < 64 ? a >> b : 0);
		break;
	case DW_OP_shra:
		push(m, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)));
		break;
	case DW_OP_xor:
		push(m, a ^ b);
		break;
	case DW_OP_eq:
		push(m, a == b);
		break;
	case DW_OP_ge:
		push(m, (int64_t)a >= (int64_t)b);
		break;
	case DW_OP_gt:
		push(m, (int64_t)a > (int64_t)b);
		break;
	case DW_OP_le:
		push(m, (int64_t)a <= (int64_t)b);
		break;
	case DW_OP_lt:
		push(m, (int64_t)a < (int64_t)b);
		break;
	case DW_OP_ne:
		push(m, a != b);
		break;
	default:
		fail(m, CFI_FAILED);
	}
}

static void run_unary(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t a = pop(m);

	switch (op) {
	case DW_OP_abs:
		push(m, (int64_t)a < 0 ? -a : a);
		break;
	case DW_OP_neg:
		push(m, -a);
		break;
	case DW_OP_not:
		push(m, ~a);
		break;
	default:
		push(m, a + read_uleb(c)); /* DW_OP_plus_uconst */
	}
}

/* Jumps within [start, end]; a cursor outside is bad. */
static void jump(struct cursor *c, const uint8_t *start, int64_t delta)
{
	if (delta < start - c->at || delta > c->end - c->at)
		c->bad = true;
	else
		c->at += delta;
}

/* This one and the next two: false if `op` is none of theirs. */
static bool run_constant(struct machine *m, struct cursor *c, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(m, (uint64_t)op - DW_OP_lit0);
		return true;
	}
	switch (op) {
	case DW_OP_addr:
		push(m, read_bytes(c, 8));
		return true;
	case DW_OP_const1u:
		push(m, read_bytes(c, 1));
		return true;
	case DW_OP_const1s:
		push(m, (uint64_t)read_signed(c, 1));
		return true;
	case DW_OP_const2u:
		push(m, read_bytes(c, 2));
		return true;
	case DW_OP_const2s:
		push(m, (uint64_t)read_signed(c, 2));
		return true;
	case DW_OP_const4u:
		push(m, read_bytes(c, 4));
		return true;
	case DW_OP_const4s:
		push(m, (uint64_t)read_signed(c, 4));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(m, read_bytes(c, 8));
		return true;
	case DW_OP_constu:
		push(m, read_uleb(c));
		return true;
	case DW_OP_consts:
		push(m, (uint64_t)read_sleb(c));
		return true;
	default:
		return false;
	}
}

static bool run_register(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t reg;

	if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
		push_register(m, (uint64_t)op - DW_OP_reg0, 0);
	} else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(m, (uint64_t)op - DW_OP_breg0, read_sleb(c));
	} else if (op == DW_OP_regx) {
		push_register(m, read_uleb(c), 0);
	} else if (op == DW_OP_bregx) {
		reg = read_uleb(c);
		push_register(m, reg, read_sleb(c));
	} else {
		return false;
	}
	return true;
}

/* The operations on the machine's own entries. */
static bool run_stack(struct machine *m, struct cursor *c, uint8_t op)
{
	switch (op) {
	case DW_OP_dup:
		push(m, pick(m, 0));
		return true;
	case DW_OP_drop:
		pop(m);
		return true;
	case DW_OP_over:
		push(m, pick(m, 1));
		return true;
	case DW_OP_pick:
		push(m, pick(m, read_bytes(c, 1)));
		return true;
	case DW_OP_swap:
		swap(m);
		return true;
	case DW_OP_rot:
		rotate(m);
		return true;
	default:
		return false;
	}
}

static void run_operation(struct machine *m, struct cursor *c, const uint8_t *start)
{
	uint8_t op = (uint8_t)read_bytes(c, 1);
	int64_t delta;

	if (run_constant(m, c, op) || run_register(m, c, op) || run_stack(m, c, op))
		return;
	switch (op) {
	case DW_OP_deref:
		dereference(m, 8);
		break;
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		run_unary(m, c, op);
		break;
	case DW_OP_div:
		divide(m, false);
		break;
	case DW_OP_mod:
		divide(m, true);
		break;
	case DW_OP_bra:
		delta = read_signed(c, 2);
		if (pop(m) != 0)
			jump(c, start, delta);
		break;
	case DW_OP_skip:
		jump(c, start, read_signed(c, 2));
		break;
	case DW_OP_deref_size:
		dereference(m, read_bytes(c, 1));
		break;
	case DW_OP_nop:
		break;
	default:
		run_binary(m, op);
	}
}

enum cfi_result cfi_evaluate(struct cfi_step *step, struct cfi_work *work, int64_t at, const uint64_t *base,
			     bool link, uint64_t *value)
{
	/* A ULEB128 length is at most ten bytes long, then follows the block. */
	const uint8_t *block = (const uint8_t *)(intptr_t)at;
	struct cursor c = { block, block + 10, false };
	struct machine m = { .step = step, .stack = work->stack, .link = link };
	uint64_t size = read_uleb(&c);
	const uint8_t *start = c.at;

	c.end = start + size;
	if (base)
		push(&m, *base);
	for (unsigned n = 0; c.at < c.end && m.result == CFI_OK; n++) {
		if (c.bad || n == EXPRESSION_OPERATIONS_MAX)
			return CFI_FAILED;
		run_operation(&m, &c, start);
	}
	*value = pop(&m);
	return c.bad ? CFI_FAILED : m.result;
}
