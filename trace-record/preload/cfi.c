/* SPDX-License-Identifier: MIT */
#include "cfi.h"

#include <stddef.h>
#include <string.h>

#include "cfi_read.h"

/* An expression that takes more operations than this is a loop. */
#define EXPRESSION_OPERATIONS_MAX 1000

/* What a common information entry says beyond the fields of struct cfi_function. */
struct augmentation {
	bool sized;
	uint8_t pointers;
};

/* Opens the entry at `at`: *entry covers what follows its length field. */
static bool open_entry(const struct cfi_section *section, uintptr_t at, struct cursor *entry)
{
	struct cursor c = { (const uint8_t *)at, (const uint8_t *)section->end, false };
	uint64_t size;

	if (at < section->start || at >= section->end)
		return false;
	size = read_bytes(&c, 4);
	if (size == 0xffffffff)
		size = read_bytes(&c, 8);
	if (c.bad || size < 4 || size > (uint64_t)(c.end - c.at))
		return false;
	*entry = (struct cursor){ c.at, c.at + size, false };
	return true;
}

static bool parse_augmentation(struct cursor *c, const char *letters, struct cfi_function *f,
			       struct augmentation *augmentation)
{
	uint64_t size = read_uleb(c);
	struct cursor data = { c->at, c->at, false };

	skip_bytes(c, size);
	if (c->bad)
		return false;
	data.end = c->at;
	augmentation->sized = true;
	for (letters++; *letters; letters++) {
		switch (*letters) {
		case 'R':
			augmentation->pointers = (uint8_t)read_bytes(&data, 1);
			break;
		case 'L':
			read_bytes(&data, 1);
			break;
		case 'P': {
			uint8_t encoding = (uint8_t)read_bytes(&data, 1);

			if ((encoding & PE_RELATION) == PE_ALIGNED)
				return false;
			read_pointer(&data, encoding & PE_FORMAT, 0);
			break;
		}
		case 'S':
			f->signal = true;
			break;
		default:
			return !data.bad; /* the size lets us pass over what is unknown */
		}
	}
	return !data.bad;
}

static bool parse_common(const struct cfi_section *section, uintptr_t at, struct cfi_function *f,
			 struct augmentation *augmentation)
{
	struct cursor c;
	const char *letters;
	uint8_t version;

	if (!open_entry(section, at, &c) || read_bytes(&c, 4) != 0)
		return false;
	version = (uint8_t)read_bytes(&c, 1);
	if (version != 1 && version != 3)
		return false;
	letters = (const char *)c.at;
	while (read_bytes(&c, 1) != 0) {
	}
	f->code_factor = read_uleb(&c);
	f->data_factor = read_sleb(&c);
	f->return_register = (uint8_t)(version == 1 ? read_bytes(&c, 1) : read_uleb(&c));
	f->signal = false;
	*augmentation = (struct augmentation){ false, PE_ABSOLUTE };
	if (c.bad || f->return_register != CFI_RIP)
		return false;
	if (letters[0] == 'z' && !parse_augmentation(&c, letters, f, augmentation))
		return false;
	if (letters[0] != 'z' && letters[0] != '\0')
		return false;
	f->common = c.at;
	f->common_end = c.end;
	return true;
}

/* Parses the function description at `at`; false when there is none or it is no good. */
static bool parse_function(const struct cfi_section *section, uintptr_t at, struct cfi_function *f)
{
	struct augmentation augmentation;
	struct cursor c;
	uintptr_t field;
	uint64_t back;

	if (!open_entry(section, at, &c))
		return false;
	field = (uintptr_t)c.at;
	back = read_bytes(&c, 4);
	if (back == 0 || back > field - section->start)
		return false;
	if (!parse_common(section, field - back, f, &augmentation))
		return false;
	f->encoding = augmentation.pointers;
	if (f->encoding & PE_INDIRECT)
		return false;
	f->start = read_pointer(&c, f->encoding, 0);
	f->end = f->start + read_pointer(&c, f->encoding & PE_FORMAT, 0);
	if (augmentation.sized)
		skip_bytes(&c, read_uleb(&c));
	f->own = c.at;
	f->own_end = c.end;
	return !c.bad && f->end >= f->start;
}

/* For objects without a search table: every entry in turn. */
static bool find_linearly(const struct cfi_section *section, uintptr_t at, uintptr_t address,
			  struct cfi_function *found)
{
	struct cursor entry;

	while (open_entry(section, at, &entry)) {
		if (parse_function(section, at, found) && address >= found->start && address < found->end)
			return true;
		at = (uintptr_t)entry.end;
	}
	return false;
}

/* The search table: pairs (function start, entry), both relative to the header, ascending. */
static uintptr_t search_table(const struct cfi_section *section, const uint8_t *table, uint64_t count,
			      uintptr_t address)
{
	int64_t wanted = (int64_t)(address - section->header);
	uint64_t low = 0, high = count;
	int32_t pair[2];

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		memcpy(pair, table + middle * sizeof(pair), sizeof(pair));
		if (pair[0] <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	memcpy(pair, table + (low - 1) * sizeof(pair), sizeof(pair));
	return section->header + (uintptr_t)(intptr_t)pair[1];
}

bool cfi_find(const struct cfi_section *section, uintptr_t address, struct cfi_function *found)
{
	struct cursor c = { (const uint8_t *)section->header, (const uint8_t *)section->end, false };
	uint8_t frame_encoding, count_encoding, table_encoding;
	uintptr_t frames, entry;
	uint64_t count;

	if (section->header < section->start || section->header >= section->end || read_bytes(&c, 1) != 1)
		return false;
	frame_encoding = (uint8_t)read_bytes(&c, 1);
	count_encoding = (uint8_t)read_bytes(&c, 1);
	table_encoding = (uint8_t)read_bytes(&c, 1);
	frames = read_pointer(&c, frame_encoding, section->header);
	count = read_pointer(&c, count_encoding, section->header);
	if (c.bad)
		return false;
	if (count_encoding == PE_OMIT || table_encoding != (PE_DATA_RELATIVE | PE_SDATA4))
		return find_linearly(section, frames, address, found);
	if (count > (uint64_t)(c.end - c.at) / 8)
		return false;
	entry = search_table(section, c.at, count, address);
	return entry != 0 && parse_function(section, entry, found) && address >= found->start &&
	       address < found->end;
}

/* A program being run for the row at `address`. */
struct program {
	const struct cfi_function *function;
	struct cfi_work *work;
	struct cursor code;
	uintptr_t location, address;
	unsigned remembered;
	bool initial; /* the common program: advances and restores mean nothing */
};

static void set_rule(struct program *p, uint64_t reg, enum cfi_kind kind, int64_t value)
{
	/* Vector and other registers beyond rip exist in tables; nothing here depends on them. */
	if (reg >= CFI_REGISTERS)
		return;
	p->work->row.kind[reg] = (uint8_t)kind;
	p->work->row.value[reg] = value;
}

static void restore_rule(struct program *p, uint64_t reg)
{
	if (reg < CFI_REGISTERS)
		set_rule(p, reg, p->work->initial.kind[reg], p->work->initial.value[reg]);
}

static void set_cfa(struct program *p, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_REGISTERS)
		p->code.bad = true;
	p->work->row.cfa_register = (uint8_t)reg;
	p->work->row.cfa_is_expression = false;
	p->work->row.cfa = offset;
}

/* The expression block at the cursor: its address, checked to lie within the entry. */
static int64_t take_expression(struct program *p)
{
	const uint8_t *block = p->code.at;

	skip_bytes(&p->code, read_uleb(&p->code));
	return (int64_t)(intptr_t)block;
}

static int64_t factored(const struct program *p, int64_t offset)
{
	return (int64_t)((uint64_t)offset * (uint64_t)p->function->data_factor);
}

static void remember(struct program *p)
{
	if (p->remembered == CFI_REMEMBERED)
		p->code.bad = true;
	else
		p->work->remembered[p->remembered++] = p->work->row;
}

static void recall(struct program *p)
{
	if (p->remembered == 0)
		p->code.bad = true;
	else
		p->work->row = p->work->remembered[--p->remembered];
}

/* Moves on; false when the row wanted is complete. */
static bool advance(struct program *p, uint64_t delta)
{
	uintptr_t next = p->location + delta * p->function->code_factor;

	if (next > p->address)
		return false;
	p->location = next;
	return true;
}

/* The instructions whose operand is in the low six bits of the opcode, and those that move on.
 * Returns false when the row is complete. */
static bool run_primary(struct program *p, uint8_t op)
{
	uint64_t low = op & 0x3f;

	switch (op >> 6) {
	case 1:
		return advance(p, low);
	case 2:
		set_rule(p, low, CFI_OFFSET, factored(p, (int64_t)read_uleb(&p->code)));
		break;
	default:
		restore_rule(p, low);
	}
	return true;
}

static bool run_move(struct program *p, uint8_t op)
{
	switch (op) {
	case 0x02:
		return advance(p, read_bytes(&p->code, 1));
	case 0x03:
		return advance(p, read_bytes(&p->code, 2));
	case 0x04:
		return advance(p, read_bytes(&p->code, 4));
	default: { /* set_loc */
		uintptr_t next = read_pointer(&p->code, p->function->encoding, 0);

		if (next > p->address)
			return false;
		p->location = next;
		return true;
	}
	}
}

/* The instructions that set a rule or the CFA. The operands are read in their order. */
static void run_rule(struct program *p, uint8_t op)
{
	struct cursor *c = &p->code;
	struct cfi_row *row = &p->work->row;
	uint64_t reg = 0;

	if (op != 0x0e && op != 0x0f && op != 0x13)
		reg = read_uleb(c);
	switch (op) {
	case 0x05:
		set_rule(p, reg, CFI_OFFSET, factored(p, (int64_t)read_uleb(c)));
		break;
	case 0x06:
		restore_rule(p, reg);
		break;
	case 0x07:
		set_rule(p, reg, CFI_UNDEFINED, 0);
		break;
	case 0x08:
		set_rule(p, reg, CFI_SAME, 0);
		break;
	case 0x09:
		set_rule(p, reg, CFI_IN_REGISTER, (int64_t)read_uleb(c));
		break;
	case 0x0c:
		set_cfa(p, reg, (int64_t)read_uleb(c));
		break;
	case 0x0d:
		set_cfa(p, reg, row->cfa);
		break;
	case 0x0e:
		set_cfa(p, row->cfa_register, (int64_t)read_uleb(c));
		break;
	case 0x0f:
		row->cfa = take_expression(p);
		row->cfa_is_expression = true;
		break;
	case 0x10:
		set_rule(p, reg, CFI_EXPRESSION, take_expression(p));
		break;
	case 0x11:
		set_rule(p, reg, CFI_OFFSET, factored(p, read_sleb(c)));
		break;
	case 0x12:
		set_cfa(p, reg, factored(p, read_sleb(c)));
		break;
	case 0x13:
		set_cfa(p, row->cfa_register, factored(p, read_sleb(c)));
		break;
	case 0x14:
		set_rule(p, reg, CFI_VAL_OFFSET, factored(p, (int64_t)read_uleb(c)));
		break;
	case 0x15:
		set_rule(p, reg, CFI_VAL_OFFSET, factored(p, read_sleb(c)));
		break;
	case 0x16:
		set_rule(p, reg, CFI_VAL_EXPRESSION, take_expression(p));
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		set_rule(p, reg, CFI_OFFSET, -factored(p, (int64_t)read_uleb(c)));
		break;
	default:
		c->bad = true;
	}
}

static bool run_program(struct program *p)
{
	while (p->code.at < p->code.end && !p->code.bad) {
		uint8_t op = (uint8_t)read_bytes(&p->code, 1);

		if (op >= 0x40) {
			if (!run_primary(p, op))
				break;
			continue;
		}
		switch (op) {
		case 0x00:
			break;
		case 0x01:
		case 0x02:
		case 0x03:
		case 0x04:
			if (!run_move(p, op))
				return !p->code.bad;
			break;
		case 0x0a:
			remember(p);
			break;
		case 0x0b:
			recall(p);
			break;
		case 0x2e:
			read_uleb(&p->code);
			break; /* GNU_args_size: for landing pads only */
		default:
			run_rule(p, op);
		}
	}
	return !p->code.bad;
}

bool cfi_find_row(const struct cfi_function *function, uintptr_t address, struct cfi_work *work)
{
	struct program p = {
		.function = function,
		.work = work,
		.location = function->start,
		.address = address,
		.code = { function->common, function->common_end, false },
	};

	memset(&work->row, 0, sizeof(work->row));
	memset(&work->initial, 0, sizeof(work->initial));
	work->row.cfa_register = CFI_REGISTERS;
	if (!run_program(&p))
		return false;
	work->initial = work->row;
	p.location = function->start;
	p.remembered = 0;
	p.code = (struct cursor){ function->own, function->own_end, false };
	return run_program(&p) && (work->row.cfa_is_expression || work->row.cfa_register < CFI_REGISTERS);
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

static enum cfi_result read_register(struct cfi_step *step, uint64_t reg, bool link, uint64_t *value)
{
	*value = 0;
	if (reg >= CFI_REGISTERS)
		return CFI_FAILED;
	if (!(step->state->known & 1u << reg))
		return CFI_NEEDS_REGISTER;
	if (link)
		step->used |= 1u << reg;
	*value = step->state->value[reg];
	return CFI_OK;
}

static void push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	uint64_t value;
	enum cfi_result result = read_register(m->step, reg, m->link, &value);

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
	case 0x1a:
		push(m, a & b);
		break;
	case 0x1c:
		push(m, a - b);
		break;
	case 0x1e:
		push(m, a * b);
		break;
	case 0x21:
		push(m, a | b);
		break;
	case 0x22:
		push(m, a + b);
		break;
	case 0x24:
		push(m, b < 64 ? a << b : 0);
		break;
	case 0x25:
		push(m, b < 64 ? a >> b : 0);
		break;
	case 0x26:
		push(m, (uint64_t)((int64_t)a >> (b < 64 ? b : 63)));
		break;
	case 0x27:
		push(m, a ^ b);
		break;
	case 0x29:
		push(m, a == b);
		break;
	case 0x2a:
		push(m, (int64_t)a >= (int64_t)b);
		break;
	case 0x2b:
		push(m, (int64_t)a > (int64_t)b);
		break;
	case 0x2c:
		push(m, (int64_t)a <= (int64_t)b);
		break;
	case 0x2d:
		push(m, (int64_t)a < (int64_t)b);
		break;
	case 0x2e:
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
	case 0x19:
		push(m, (int64_t)a < 0 ? -a : a);
		break;
	case 0x1f:
		push(m, -a);
		break;
	case 0x20:
		push(m, ~a);
		break;
	default:
		push(m, a + read_uleb(c)); /* 0x23, plus_uconst */
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

static bool run_constant(struct machine *m, struct cursor *c, uint8_t op)
{
	switch (op) {
	case 0x03:
		push(m, read_bytes(c, 8));
		return true;
	case 0x08:
		push(m, read_bytes(c, 1));
		return true;
	case 0x09:
		push(m, (uint64_t)read_signed(c, 1));
		return true;
	case 0x0a:
		push(m, read_bytes(c, 2));
		return true;
	case 0x0b:
		push(m, (uint64_t)read_signed(c, 2));
		return true;
	case 0x0c:
		push(m, read_bytes(c, 4));
		return true;
	case 0x0d:
		push(m, (uint64_t)read_signed(c, 4));
		return true;
	case 0x0e:
	case 0x0f:
		push(m, read_bytes(c, 8));
		return true;
	case 0x10:
		push(m, read_uleb(c));
		return true;
	case 0x11:
		push(m, (uint64_t)read_sleb(c));
		return true;
	default:
		return false;
	}
}

static void run_operation(struct machine *m, struct cursor *c, const uint8_t *start)
{
	uint8_t op = (uint8_t)read_bytes(c, 1);
	int64_t delta;
	uint64_t reg;

	if (op >= 0x30 && op <= 0x4f) {
		push(m, op - 0x30u);
		return;
	}
	if (op >= 0x50 && op <= 0x6f) {
		push_register(m, op - 0x50u, 0);
		return;
	}
	if (op >= 0x70 && op <= 0x8f) {
		push_register(m, op - 0x70u, read_sleb(c));
		return;
	}
	if (run_constant(m, c, op))
		return;
	switch (op) {
	case 0x06:
		dereference(m, 8);
		break;
	case 0x12:
		push(m, pick(m, 0));
		break;
	case 0x13:
		pop(m);
		break;
	case 0x14:
		push(m, pick(m, 1));
		break;
	case 0x15:
		push(m, pick(m, read_bytes(c, 1)));
		break;
	case 0x16:
		swap(m);
		break;
	case 0x17:
		rotate(m);
		break;
	case 0x19:
	case 0x1f:
	case 0x20:
	case 0x23:
		run_unary(m, c, op);
		break;
	case 0x1b:
		divide(m, false);
		break;
	case 0x1d:
		divide(m, true);
		break;
	case 0x28:
		delta = read_signed(c, 2);
		if (pop(m) != 0)
			jump(c, start, delta);
		break;
	case 0x2f:
		jump(c, start, read_signed(c, 2));
		break;
	case 0x90:
		push_register(m, read_uleb(c), 0);
		break;
	case 0x92:
		reg = read_uleb(c);
		push_register(m, reg, read_sleb(c));
		break;
	case 0x94:
		dereference(m, read_bytes(c, 1));
		break;
	case 0x96:
		break;
	default:
		run_binary(m, op);
	}
}

/* Evaluates the expression block at `at`, whose length cfi_find_row() checked. `base` is pushed
 * first when it is not NULL. */
static enum cfi_result evaluate(struct cfi_step *step, struct cfi_work *work, int64_t at,
				const uint64_t *base, bool link, uint64_t *value)
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

/* A register of the caller. *at: where it was read, 0 = nowhere. */
static enum cfi_result restore(struct cfi_step *step, struct cfi_work *work, unsigned reg, uint64_t cfa,
			       bool link, uint64_t *value, uintptr_t *at)
{
	int64_t rule = work->row.value[reg];
	uint64_t address;
	enum cfi_result result;

	*at = 0;
	switch (work->row.kind[reg]) {
	case CFI_SAME:
		return read_register(step, reg, link, value);
	case CFI_UNDEFINED:
		return CFI_NEEDS_REGISTER;
	case CFI_VAL_OFFSET:
		*value = cfa + (uint64_t)rule;
		return CFI_OK;
	case CFI_IN_REGISTER:
		return read_register(step, (uint64_t)rule, link, value);
	case CFI_VAL_EXPRESSION:
		return evaluate(step, work, rule, &cfa, link, value);
	case CFI_OFFSET:
		address = cfa + (uint64_t)rule;
		break;
	default:
		result = evaluate(step, work, rule, &cfa, link, &address);
		if (result != CFI_OK)
			return result;
	}
	*at = address;
	return step->read(step->context, address, 8, link, value) ? CFI_OK : CFI_FAILED;
}

static enum cfi_result find_cfa(struct cfi_step *step, struct cfi_work *work, uint64_t *cfa)
{
	enum cfi_result result;

	if (work->row.cfa_is_expression)
		return evaluate(step, work, work->row.cfa, NULL, true, cfa);
	result = read_register(step, work->row.cfa_register, true, cfa);
	*cfa += (uint64_t)work->row.cfa;
	return result;
}

/* rip and rsp of the caller must be found; rbp may be lost, but not for want of a register that a
 * walk with all registers would know. */
static enum cfi_result restore_links(struct cfi_step *step, struct cfi_work *work, uint64_t cfa,
				     struct cfi_state *caller)
{
	enum cfi_result result;
	uintptr_t at;

	result = restore(step, work, CFI_RIP, cfa, true, &caller->value[CFI_RIP], &step->return_at);
	if (result != CFI_OK)
		return result;
	caller->value[CFI_RSP] = cfa;
	if (work->row.kind[CFI_RSP] != CFI_SAME) {
		result = restore(step, work, CFI_RSP, cfa, true, &caller->value[CFI_RSP], &at);
		if (result != CFI_OK)
			return result;
	}
	caller->known = 1u << CFI_RIP | 1u << CFI_RSP;
	result = restore(step, work, CFI_RBP, cfa, true, &caller->value[CFI_RBP], &at);
	if (result == CFI_OK)
		caller->known |= 1u << CFI_RBP;
	else if (result == CFI_FAILED)
		return CFI_FAILED;
	else if (!step->all_registers && work->row.kind[CFI_RBP] != CFI_UNDEFINED)
		return CFI_NEEDS_REGISTER;
	return CFI_OK;
}

enum cfi_result cfi_take_step(struct cfi_step *step, struct cfi_work *work)
{
	struct cfi_state caller;
	enum cfi_result result;
	uintptr_t at;
	uint64_t cfa;

	step->used = 0;
	step->return_at = 0;
	if (work->row.kind[CFI_RIP] == CFI_UNDEFINED)
		return CFI_OUTERMOST;
	result = find_cfa(step, work, &cfa);
	if (result != CFI_OK)
		return result;
	result = restore_links(step, work, cfa, &caller);
	if (result != CFI_OK)
		return result;
	for (unsigned reg = 0; step->all_registers && reg < CFI_RIP; reg++)
		if (reg != CFI_RBP && reg != CFI_RSP &&
		    restore(step, work, reg, cfa, false, &caller.value[reg], &at) == CFI_OK)
			caller.known |= 1u << reg;
	*step->state = caller;
	return CFI_OK;
}
