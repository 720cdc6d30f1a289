/* SPDX-License-Identifier: MIT */
#include "instruction.h"

#include <string.h>

/* What follows an opcode. */
enum form {
	NONE,
	MODRM = 1,
	IMM8 = 2,     /* one byte */
	IMM32 = 4,    /* four; two with the prefix 66 */
	IMM64 = 8,    /* eight with REX.W, else as IMM32 */
	IMM16 = 16,   /* two */
	ADDRESS = 32, /* eight */
	REL32 = 64,   /* four, of a jump */
	INVALID = 128
};

struct reader {
	const uint8_t *at, *end;
	bool failed;
};

static uint8_t take(struct reader *r)
{
	if (r->at == r->end) {
		r->failed = true;
		return 0;
	}
	return *r->at++;
}

/* A little-endian number of so many bytes, sign-extended. */
static int64_t take_number(struct reader *r, unsigned bytes)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)take(r) << 8 * i;
	return bytes ? (int64_t)(number << (64 - 8 * bytes)) >> (64 - 8 * bytes) : 0;
}

/* Opcodes 00 to 3f: eight rows of arithmetic, alike but for prefixes, which are taken before. */
static uint8_t arithmetic_form(uint8_t opcode)
{
	static const uint8_t forms[8] = { MODRM, MODRM, MODRM, MODRM, IMM8, IMM32, INVALID, INVALID };

	return forms[opcode % 8];
}

static uint8_t form_40_8f(uint8_t opcode)
{
	if (opcode < 0x60)
		return NONE; /* 50 to 5f: push and pop; 40 to 4f are prefixes */
	if (opcode >= 0x70 && opcode < 0x80)
		return IMM8;
	switch (opcode) {
	case 0x63:
		return MODRM;
	case 0x68:
		return IMM32;
	case 0x69:
	case 0x81:
		return MODRM | IMM32;
	case 0x6a:
		return IMM8;
	case 0x6b:
	case 0x80:
	case 0x83:
		return MODRM | IMM8;
	case 0x6c:
	case 0x6d:
	case 0x6e:
	case 0x6f:
		return NONE;
	default:
		return opcode >= 0x84 ? MODRM : INVALID;
	}
}

static uint8_t form_90_cf(uint8_t opcode)
{
	if (opcode >= 0xb0 && opcode < 0xc0)
		return opcode < 0xb8 ? IMM8 : IMM64;
	if (opcode >= 0xa0 && opcode < 0xa4)
		return ADDRESS;
	switch (opcode) {
	case 0x9a:
	case 0xc4: /* a prefix */
	case 0xc5:
	case 0xce:
		return INVALID;
	case 0xa8:
	case 0xcd:
		return IMM8;
	case 0xa9:
		return IMM32;
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return MODRM | IMM8;
	case 0xc2:
	case 0xca:
		return IMM16;
	case 0xc7:
		return MODRM | IMM32;
	case 0xc8:
		return IMM16 | IMM8;
	default:
		return NONE;
	}
}

/* f6 and f7 have an operand in the code where ModRM.reg says test. */
static uint8_t form_d0_ff(uint8_t opcode, uint8_t reg)
{
	if (opcode < 0xd4 || (opcode >= 0xd8 && opcode < 0xe0) || opcode >= 0xfe)
		return MODRM;
	if (opcode == 0xf6)
		return MODRM | (reg % 8 < 2 ? IMM8 : NONE);
	if (opcode == 0xf7)
		return MODRM | (reg % 8 < 2 ? IMM32 : NONE);
	if (opcode == 0xe8 || opcode == 0xe9)
		return REL32;
	if ((opcode >= 0xe0 && opcode < 0xe8) || opcode == 0xeb)
		return IMM8;
	return opcode == 0xd4 || opcode == 0xd5 || opcode == 0xd6 || opcode == 0xea ? INVALID : NONE;
}

/* Opcodes behind 0f. */
static uint8_t form_0f(uint8_t opcode)
{
	if (opcode >= 0x80 && opcode < 0x90)
		return REL32;
	if ((opcode >= 0xc8 && opcode < 0xd0) || (opcode >= 0x30 && opcode < 0x38))
		return NONE;
	switch (opcode) {
	case 0x05:
	case 0x06:
	case 0x08:
	case 0x09:
	case 0x0b:
	case 0x77:
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa8:
	case 0xa9:
	case 0xaa:
		return NONE;
	case 0x70:
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4:
	case 0xc5:
	case 0xc6:
		return MODRM | IMM8;
	default:
		return MODRM;
	}
}

/* `reg` is that of the ModRM byte, if there is one. */
static uint8_t form_of(const struct instruction *i, uint8_t reg)
{
	if (i->map == 2)
		return form_0f(i->opcode);
	if (i->map > 2)
		return MODRM | (i->map == 4 ? IMM8 : NONE);
	if (i->opcode < 0x40)
		return arithmetic_form(i->opcode);
	if (i->opcode < 0x90)
		return form_40_8f(i->opcode);
	return i->opcode < 0xd0 ? form_90_cf(i->opcode) : form_d0_ff(i->opcode, reg);
}

/* The ModRM byte and the address that it stands for. */
static void take_modrm(struct reader *r, uint8_t rex, struct instruction *i)
{
	const uint8_t byte = take(r);
	bool absolute = byte % 8 == 5; /* with mod 0: an address of 32 bits, or relative to the pc */
	uint8_t sib;

	i->has_modrm = true;
	i->mod = byte >> 6;
	i->reg = (uint8_t)((byte >> 3 & 7) | (rex & 4) << 1);
	i->rm = (uint8_t)((byte & 7) | (rex & 1) << 3);
	i->base = i->rm;
	if (i->mod == 3)
		return;
	if (byte % 8 == 4) {
		sib = take(r);
		i->base = (uint8_t)((sib & 7) | (rex & 1) << 3);
		if ((sib >> 3 & 7) != 4 || rex & 2)
			i->base = NO_BASE;
		absolute = sib % 8 == 5;
	}
	if (i->mod == 0 && absolute)
		i->base = NO_BASE;
	if (i->mod > 0 || absolute)
		i->displacement = (int32_t)take_number(r, i->mod == 1 ? 1 : 4);
}

/* Prefixes, up to the opcode; `narrow`: 66 is among them. */
static void take_prefixes(struct reader *r, uint8_t *rex, bool *narrow)
{
	static const uint8_t prefixes[] = {
		0x66, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x67, 0xf0
	};

	while (r->at < r->end && memchr(prefixes, *r->at, sizeof(prefixes)))
		*narrow |= take(r) == 0x66;
	if (r->at < r->end && *r->at >> 4 == 4)
		*rex = take(r);
}

/* The opcode and its map, also behind a VEX prefix, which has REX's bits inverted. */
static void take_opcode(struct reader *r, uint8_t *rex, struct instruction *i)
{
	uint8_t byte = take(r);

	i->map = 1;
	if (byte == 0xc5) {
		*rex = take(r) & 0x80 ? 0 : 4;
		i->map = 2;
		byte = take(r);
	} else if (byte == 0xc4) {
		const uint8_t second = take(r);

		*rex = (uint8_t)(~second >> 5 & 7);
		i->map = (uint8_t)(1 + second % 32);
		r->failed |= i->map < 2 || i->map > 4;
		take(r);
		byte = take(r);
	} else if (byte == 0x0f) {
		byte = take(r);
		i->map = 2;
		if (byte == 0x38 || byte == 0x3a) {
			i->map = byte == 0x38 ? 3 : 4;
			byte = take(r);
		}
	}
	i->opcode = byte;
}

bool instruction_decode(const uint8_t *code, uint64_t bytes, struct instruction *i)
{
	struct reader r = { .at = code,
			    .end = code + (bytes < INSTRUCTION_BYTES ? bytes : INSTRUCTION_BYTES) };
	uint8_t rex = 0, form;
	bool narrow = false;

	*i = (struct instruction){ .base = NO_BASE };
	take_prefixes(&r, &rex, &narrow);
	take_opcode(&r, &rex, i);
	i->wide = rex & 8;
	form = form_of(i, r.at < r.end ? *r.at >> 3 & 7 : 0);
	if (form & MODRM)
		take_modrm(&r, rex, i);
	if (form & IMM16)
		i->immediate = take_number(&r, 2);
	if (form & IMM8)
		i->immediate = take_number(&r, 1);
	if (form & IMM32)
		i->immediate = take_number(&r, narrow ? 2 : 4);
	if (form & REL32)
		i->immediate = take_number(&r, 4);
	if (form & IMM64)
		i->immediate = take_number(&r, i->wide ? 8 : narrow ? 2 : 4);
	if (form & ADDRESS)
		take_number(&r, 8);
	/* Registers of push, pop and the like are in the opcode. */
	if (!i->has_modrm)
		i->rm = (uint8_t)((i->opcode & 7) | (rex & 1) << 3);
	i->length = (uint8_t)(r.at - code);
	return !r.failed && !(form & INVALID);
}
