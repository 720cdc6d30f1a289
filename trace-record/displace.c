/* SPDX-License-Identifier: MIT */
#include "displace.h"

#include <Zydis/Zydis.h>
#include <string.h>

#define JUMP 0xe9u
#define JUMP_SHORT 0xebu
#define JUMP_MOST 6u /* bytes */
#define JUMP_IF_SHORT 0x70u
#define JUMP_IF 0x80u /* behind 0x0f */
#define INDIRECT 0xffu
#define FAR_BEFORE 192u /* bytes from which on instructions are decoded to see where they end */

#define LIKELY_MOST 4096u     /* jumps to an entry, in a file, that may be none; with more they count */
#define FUNCTION_ALIGN 16u    /* what lies there may be another function */
#define UNKNOWN_FUNCTION 160u /* bytes that are looked at of a function of unknown size */

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* ---- instructions ---- */

struct instruction {
	ZydisDecodedInstruction z;
	uint64_t at;     /* offset in the code */
	uint64_t target; /* address that a relative branch names */
	bool branches;   /* relatively */
	bool ends;       /* the next instruction does not follow it */
};

/* Whether an operand in memory lies at a distance from the instruction. */
static bool has_relative_operand(const ZydisDecodedInstruction *z)
{
	return z->attributes & ZYDIS_ATTRIB_HAS_MODRM && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5;
}

static bool ends_flow(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_RET || z->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       z->mnemonic == ZYDIS_MNEMONIC_UD2 || z->mnemonic == ZYDIS_MNEMONIC_INT3 ||
	       z->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static bool decode(const struct code *code, uint64_t at, struct instruction *i)
{
	ZydisDecoder decoder;
	ZydisDecoderContext context;

	*i = (struct instruction){ .at = at };
	if (at >= code->bytes ||
	    !ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code->start + at,
							code->bytes - at, &i->z)))
		return false;
	i->branches = i->z.raw.imm[0].is_relative;
	i->target = code->address + at + i->z.length + (uint64_t)i->z.raw.imm[0].value.s;
	i->ends = ends_flow(&i->z);
	return true;
}

static bool is_padding(const ZydisDecodedInstruction *z)
{
	return z->mnemonic == ZYDIS_MNEMONIC_NOP || z->mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* ---- displacing ---- */

static bool put(struct entry *e, const uint8_t *bytes, size_t n)
{
	if (n > sizeof(e->code) - e->n_code)
		return false;
	memcpy(e->code + e->n_code, bytes, n);
	e->n_code = (uint8_t)(e->n_code + n);
	return true;
}

/* The four bytes at `at` of the code, in an instruction that ends where the code ends. */
static bool fix(struct entry *e, uint8_t at, uint64_t target)
{
	if (e->n_fixes == ENTRY_FIXES_MOST)
		return false;
	e->fixes[e->n_fixes++] = (struct entry_fix){ at, e->n_code, target };
	return true;
}

/* A jump of `n` bytes of opcode and four of distance. */
static bool put_jump(struct entry *e, const uint8_t *opcode, size_t n, uint64_t target)
{
	static const uint8_t none[4];

	return put(e, opcode, n) && put(e, none, sizeof(none)) && fix(e, (uint8_t)(e->n_code - 4), target);
}

/*
 * A call, the last displaced instruction, returns to where it would return, so that the stack looks the same to what unwinds
 * it: the address is pushed, and a jump follows.
 */
static const char *put_call(const struct code *code, struct entry *e, const struct instruction *i)
{
	const uint64_t behind = code->address + i->at + i->z.length;
	static const uint8_t push[] = { INDIRECT, 0x35, 0, 0, 0, 0 }; /* the eight bytes behind the jump */
	static const uint8_t jump[] = { JUMP }, address[8];
	const uint8_t start = e->n_code;
	static const uint8_t jump_to[] = { INDIRECT, 0x25 };
	bool done = put(e, push, sizeof(push));

	if (i->branches)
		done = done && put_jump(e, jump, sizeof(jump), i->target);
	else if (code->start[i->at] == INDIRECT && has_relative_operand(&i->z))
		done = done && put_jump(e, jump_to, sizeof(jump_to), behind + (uint64_t)i->z.raw.disp.value);
	else
		return "it begins with an unusual call";
	if (!done || !put(e, address, sizeof(address)) || e->n_fixes == ENTRY_FIXES_MOST)
		return "its first instructions are too long";
	e->code[start + 2] = (uint8_t)(e->n_code - sizeof(address) - start - sizeof(push));
	e->fixes[e->n_fixes++] = (struct entry_fix){ (uint8_t)(e->n_code - sizeof(address)), 0, behind };
	return NULL;
}

/* NULL, or a reason. */
static const char *put_branch(struct entry *e, const struct instruction *i)
{
	const uint8_t jump_if[] = { 0x0f, (uint8_t)(JUMP_IF | (i->z.opcode & 15)) };
	const uint8_t jump[] = { JUMP };
	const bool is_if = i->z.meta.category == ZYDIS_CATEGORY_COND_BR;

	/* Others (loop, jrcxz) have no form with four bytes of distance. */
	if (is_if ? i->z.opcode >> 4 != 7 && i->z.opcode >> 4 != 8
		  : i->z.opcode != JUMP && i->z.opcode != JUMP_SHORT)
		return "it begins with an unusual branch";
	if (!(is_if ? put_jump(e, jump_if, sizeof(jump_if), i->target)
		    : put_jump(e, jump, sizeof(jump), i->target)))
		return "it begins with too many branches";
	return NULL;
}

static const char *put_instruction(const struct code *code, struct entry *e, const struct instruction *i)
{
	const uint8_t start = e->n_code;
	bool done;

	if (i->z.mnemonic == ZYDIS_MNEMONIC_CALL)
		return put_call(code, e, i);
	if (i->branches)
		return put_branch(e, i);
	done = put(e, code->start + i->at, i->z.length);
	if (done && has_relative_operand(&i->z)) {
		const uint64_t target = code->address + i->at + i->z.length + (uint64_t)i->z.raw.disp.value;

		if (i->z.address_width != 64 || i->z.raw.disp.size != 32)
			return "it begins with an unusual operand";
		done = fix(e, (uint8_t)(start + i->z.raw.disp.offset), target);
	}
	return done ? NULL : "its first instructions are too long";
}

/* The instructions from `at` on, until a jump has room for itself. */
static const char *displace_from(const struct code *code, uint64_t size, uint64_t at, struct entry *e)
{
	static const uint8_t jump[] = { JUMP };
	const uint64_t from = at;
	const char *reason = NULL;
	bool ended = false;

	for (; at - from < ENTRY_JUMP_BYTES && !reason; at = from + e->n_displaced) {
		struct instruction i;

		if (!decode(code, at, &i))
			return "its first instructions are not known";
		if (!ended && size && at >= size)
			return "it is shorter than a jump";
		if (ended && (!is_padding(&i.z) || (code->address + at) % FUNCTION_ALIGN == 0))
			return "it is shorter than a jump";
		if (!ended)
			reason = put_instruction(code, e, &i);
		/* A call is the last one, and returns to what follows. */
		ended |= i.ends || i.z.mnemonic == ZYDIS_MNEMONIC_CALL;
		e->n_displaced = (uint8_t)(e->n_displaced + i.z.length);
	}
	if (reason)
		return reason;
	if (!ended && !put_jump(e, jump, sizeof(jump), code->address + at))
		return "its first instructions are too long";
	if (e->n_displaced > ENTRY_DISPLACED_MOST)
		return "its first instructions are too long";
	memcpy(e->displaced, code->start + from, e->n_displaced);
	return NULL;
}

const char *displace_first(const struct code *code, uint64_t size, struct entry *e)
{
	/* Where the processor checks indirect branches, these must find the marker. */
	const uint64_t at =
		code->bytes >= sizeof(endbr64) && memcmp(code->start, endbr64, sizeof(endbr64)) == 0
			? sizeof(endbr64)
			: 0;
	const char *reason;

	e->address = code->address + at;
	e->n_displaced = e->n_code = e->n_fixes = 0;
	reason = displace_from(code, size, at, e);
	if (!reason && displace_is_target(code, size ? size : UNKNOWN_FUNCTION, e))
		reason = "code jumps to its first instructions";
	return reason;
}

/* ---- targets ---- */

static bool is_inside(const struct entry *e, uint64_t address)
{
	return address > e->address && address < e->address + e->n_displaced;
}

bool displace_is_target(const struct code *code, uint64_t size, const struct entry *e)
{
	struct instruction i;

	for (uint64_t at = 0; at < size && decode(code, at, &i); at += i.z.length) {
		if (i.branches && is_inside(e, i.target))
			return true;
	}
	return false;
}

/* Whether instructions that are decoded from somewhere before end where `at` is. */
static bool is_boundary(const struct code *code, uint64_t at)
{
	uint64_t from = at > FAR_BEFORE ? at - FAR_BEFORE : 0;
	struct instruction i;

	while (from < at) {
		from += decode(code, from, &i) ? i.z.length : 1;
	}
	return from == at;
}

static bool is_inside_any(const struct entry *entries, uint32_t n, uint64_t address)
{
	for (uint32_t k = 0; k < n; k++) {
		if (is_inside(&entries[k], address))
			return true;
	}
	return false;
}

/* What the bytes at `at` would jump to; JUMP_MOST are there. */
static bool read_jump(const struct code *code, uint64_t at, uint64_t *target)
{
	const uint8_t *c = code->start + at;
	const unsigned opcode = c[0] == JUMP ? 1 : c[0] == 0x0f && (c[1] & 0xf0) == JUMP_IF ? 2 : 0;
	int32_t distance;

	if (opcode) {
		memcpy(&distance, c + opcode, sizeof(distance));
		*target = code->address + at + opcode + sizeof(distance) + (uint64_t)(int64_t)distance;
		return true;
	}
	*target = code->address + at + 2 + (uint64_t)(int64_t)(int8_t)c[1];
	return c[0] == JUMP_SHORT || (c[0] & 0xf0) == JUMP_IF_SHORT;
}

bool displace_may_be_target(const struct code *code, const struct entry *entries, uint32_t n)
{
	uint64_t low = UINT64_MAX, high = 0;
	uint32_t likely = 0;

	for (uint32_t k = 0; k < n; k++) {
		low = entries[k].address < low ? entries[k].address : low;
		high = entries[k].address > high ? entries[k].address : high;
	}
	high += ENTRY_DISPLACED_MOST;
	for (uint64_t at = 0; at + JUMP_MOST <= code->bytes; at++) {
		uint64_t target;

		if (!read_jump(code, at, &target))
			continue;
		if (target > low && target < high && is_inside_any(entries, n, target) &&
		    (is_boundary(code, at) || likely++ == LIKELY_MOST))
			return true;
	}
	return false;
}
