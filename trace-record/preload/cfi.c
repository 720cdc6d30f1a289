/* SPDX-License-Identifier: MIT */
#include "cfi.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "cfi_read.h"
#include "recorder_assert.h"

/* What a common entry holds beyond the fields of struct cfi_function. */
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
	RECORDER_ASSERT((uintptr_t)entry->end <= section->end);
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

			if ((encoding & PE_RELATION) == DW_EH_PE_aligned)
				return false;
			read_pointer(&data, encoding & PE_FORMAT, 0);
			break;
		}
		case 'S':
			f->signal = true;
			break;
		case 'B': /* with which key return addresses are signed; and that stack frames are tagged */
		case 'G':
			break;
		default:
			return !data.bad; /* unknown letters end it: their data is skipped by size */
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
	*augmentation = (struct augmentation){ false, DW_EH_PE_absptr };
	if (c.bad || f->return_register != CFI_RETURN)
		return false;
	if (letters[0] == 'z' && !parse_augmentation(&c, letters, f, augmentation))
		return false;
	if (letters[0] != 'z' && letters[0] != '\0')
		return false;
	f->common = c.at;
	f->common_end = c.end;
	return true;
}

bool cfi_parse(const struct cfi_section *section, uintptr_t at, struct cfi_function *f)
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
	if (f->encoding & DW_EH_PE_indirect)
		return false;
	f->start = read_pointer(&c, f->encoding, 0);
	f->end = f->start + read_pointer(&c, f->encoding & PE_FORMAT, 0);
	if (augmentation.sized)
		skip_bytes(&c, read_uleb(&c));
	f->own = c.at;
	f->own_end = c.end;
	return !c.bad && f->end >= f->start;
}

/* For objects without a search table. */
static bool find_linearly(const struct cfi_section *section, uintptr_t at, uintptr_t address,
			  struct cfi_function *found)
{
	struct cursor entry;

	while (open_entry(section, at, &entry)) {
		if (cfi_parse(section, at, found) && address >= found->start && address < found->end)
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
	RECORDER_ASSERT(low <= count);
	memcpy(pair, table + (low - 1) * sizeof(pair), sizeof(pair));
	return section->header + (uintptr_t)(intptr_t)pair[1];
}

/* The fields of .eh_frame_hdr. */
struct frame_header {
	uintptr_t frames;
	uint64_t count;
	bool searchable; /* `table` has the form that all linkers write */
	struct cursor table;
};

static bool parse_header(uintptr_t header, uintptr_t end, struct frame_header *h)
{
	struct cursor c = { (const uint8_t *)header, (const uint8_t *)end, false };
	uint8_t frame_encoding, count_encoding, table_encoding;

	if (!header || header >= end || read_bytes(&c, 1) != 1)
		return false;
	frame_encoding = (uint8_t)read_bytes(&c, 1);
	count_encoding = (uint8_t)read_bytes(&c, 1);
	table_encoding = (uint8_t)read_bytes(&c, 1);
	h->frames = read_pointer(&c, frame_encoding, header);
	h->count = read_pointer(&c, count_encoding, header);
	h->searchable =
		count_encoding != DW_EH_PE_omit && table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
	h->table = c;
	return !c.bad;
}

uintptr_t cfi_frames(uintptr_t header, uintptr_t header_end)
{
	struct frame_header h;

	return parse_header(header, header_end, &h) ? h.frames : 0;
}

bool cfi_find(const struct cfi_section *section, uintptr_t address, struct cfi_function *found)
{
	struct frame_header h;
	uintptr_t entry;

	if (!parse_header(section->header, section->header_end, &h))
		return false;
	if (!h.searchable)
		return find_linearly(section, h.frames, address, found);
	if (h.count > (uint64_t)(h.table.end - h.table.at) / 8)
		return false;
	entry = search_table(section, h.table.at, h.count, address);
	return entry != 0 && cfi_parse(section, entry, found) && address >= found->start &&
	       address < found->end;
}

/* A program that runs for the row at `address`: location <= address, remembered <= CFI_REMEMBERED. */
struct program {
	const struct cfi_function *function;
	struct cfi_work *work;
	struct cursor code;
	uintptr_t location, address;
	uintptr_t next; /* once the row is complete: where the next one begins */
	unsigned remembered;
};

static void set_rule(struct program *p, uint64_t reg, enum cfi_kind kind, int64_t value)
{
	/* Tables describe vector and other registers, too; no step depends on them. */
	if (reg >= CFI_REGISTERS)
		return;
	RECORDER_ASSERT(kind <= CFI_VAL_EXPRESSION);
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

/* Skips the expression block at the cursor, which must lie within the entry; returns its address. */
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
	RECORDER_ASSERT(p->remembered <= CFI_REMEMBERED);
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

/* Moves the location to `next`; false when the row is complete. */
static bool advance_to(struct program *p, uintptr_t next)
{
	p->next = next;
	if (next > p->address)
		return false;
	p->location = next;
	return true;
}

static bool advance(struct program *p, uint64_t delta)
{
	return advance_to(p, p->location + delta * p->function->code_factor);
}

/* The instructions whose operand is in the low six bits of the opcode. False when the row is complete. */
static bool run_primary(struct program *p, uint8_t op)
{
	uint64_t low = op & 0x3f;

	switch (op & ~0x3f) {
	case DW_CFA_advance_loc:
		return advance(p, low);
	case DW_CFA_offset:
		set_rule(p, low, CFI_OFFSET, factored(p, (int64_t)read_uleb(&p->code)));
		break;
	default: /* DW_CFA_restore */
		restore_rule(p, low);
	}
	return true;
}

/* The other instructions that move the location. False when the row is complete. */
static bool run_move(struct program *p, uint8_t op)
{
	switch (op) {
	case DW_CFA_advance_loc1:
		return advance(p, read_bytes(&p->code, 1));
	case DW_CFA_advance_loc2:
		return advance(p, read_bytes(&p->code, 2));
	case DW_CFA_advance_loc4:
		return advance(p, read_bytes(&p->code, 4));
	default: /* DW_CFA_set_loc */
		return advance_to(p, read_pointer(&p->code, p->function->encoding, 0));
	}
}

/* The instructions that set the CFA. Operands are read in their order. False: `op` is none of them. */
static bool run_cfa(struct program *p, uint8_t op)
{
	struct cursor *c = &p->code;
	struct cfi_row *row = &p->work->row;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = read_uleb(c);
		set_cfa(p, reg, (int64_t)read_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = read_uleb(c);
		set_cfa(p, reg, factored(p, read_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(p, read_uleb(c), row->cfa);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa(p, row->cfa_register, (int64_t)read_uleb(c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(p, row->cfa_register, factored(p, read_sleb(c)));
		return true;
	case DW_CFA_def_cfa_expression:
		row->cfa = take_expression(p);
		row->cfa_is_expression = true;
		return true;
	default:
		return false;
	}
}

/* The instructions that set the rule of a register, their first operand. */
static void run_rule(struct program *p, uint8_t op)
{
	struct cursor *c = &p->code;
	const uint64_t reg = read_uleb(c);

	switch (op) {
	case DW_CFA_offset_extended:
		set_rule(p, reg, CFI_OFFSET, factored(p, (int64_t)read_uleb(c)));
		break;
	case DW_CFA_restore_extended:
		restore_rule(p, reg);
		break;
	case DW_CFA_undefined:
		set_rule(p, reg, CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_rule(p, reg, CFI_SAME, 0);
		break;
	case DW_CFA_register:
		set_rule(p, reg, CFI_IN_REGISTER, (int64_t)read_uleb(c));
		break;
	case DW_CFA_expression:
		set_rule(p, reg, CFI_EXPRESSION, take_expression(p));
		break;
	case DW_CFA_offset_extended_sf:
		set_rule(p, reg, CFI_OFFSET, factored(p, read_sleb(c)));
		break;
	case DW_CFA_val_offset:
		set_rule(p, reg, CFI_VAL_OFFSET, factored(p, (int64_t)read_uleb(c)));
		break;
	case DW_CFA_val_offset_sf:
		set_rule(p, reg, CFI_VAL_OFFSET, factored(p, read_sleb(c)));
		break;
	case DW_CFA_val_expression:
		set_rule(p, reg, CFI_VAL_EXPRESSION, take_expression(p));
		break;
	case DW_CFA_GNU_negative_offset_extended:
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

		if (op >= DW_CFA_advance_loc) {
			if (!run_primary(p, op))
				break;
			continue;
		}
		switch (op) {
		case DW_CFA_nop:
			break;
		case DW_CFA_set_loc:
		case DW_CFA_advance_loc1:
		case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4:
			if (!run_move(p, op))
				return !p->code.bad;
			break;
		case DW_CFA_remember_state:
			remember(p);
			break;
		case DW_CFA_restore_state:
			recall(p);
			break;
		case DW_CFA_GNU_args_size:
			read_uleb(&p->code);
			break; /* matters to landing pads only */
		default:
			if (CFI_NEGATE_SIGNED && op == CFI_NEGATE_SIGNED)
				p->work->row.signed_return ^= true;
			else if (!run_cfa(p, op))
				run_rule(p, op);
		}
	}
	return !p->code.bad;
}

/* Runs the common entry's program, and sets `p` to the function's own program. */
static bool start_program(struct program *p, const struct cfi_function *function, uintptr_t address,
			  struct cfi_work *work)
{
	*p = (struct program){
		.function = function,
		.work = work,
		.location = function->start,
		.address = address,
		.code = { function->common, function->common_end, false },
	};
	memset(&work->row, 0, sizeof(work->row));
	memset(&work->initial, 0, sizeof(work->initial));
	work->row.cfa_register = CFI_REGISTERS;
	if (!run_program(p))
		return false;
	work->initial = work->row;
	p->location = function->start;
	p->remembered = 0;
	p->code = (struct cursor){ function->own, function->own_end, false };
	return true;
}

static bool has_cfa(const struct cfi_row *row)
{
	return row->cfa_is_expression || row->cfa_register < CFI_REGISTERS;
}

bool cfi_find_row(const struct cfi_function *function, uintptr_t address, struct cfi_work *work)
{
	struct program p;

	return start_program(&p, function, address, work) && run_program(&p) && has_cfa(&work->row);
}

void cfi_each_row(const struct cfi_function *function, struct cfi_work *work, cfi_row_function *take,
		  void *context)
{
	struct program p;

	if (!start_program(&p, function, function->start, work))
		return;
	while (p.address < function->end) {
		const uintptr_t start = p.address;

		p.next = 0;
		if (!run_program(&p))
			return;
		/* At the program's end, or where another row begins. */
		p.location = p.address = p.next > start && p.next < function->end ? p.next : function->end;
		RECORDER_ASSERT(p.address > start);
		if (has_cfa(&work->row))
			take(context, function, start, p.address);
	}
}
