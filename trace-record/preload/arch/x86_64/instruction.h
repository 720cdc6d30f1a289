/* SPDX-License-Identifier: MIT */
/* Decodes the length of an instruction of 64-bit code, and what return_path.c must know of it. No more than compilers emit. */
#ifndef PRELOAD_INSTRUCTION_H
#define PRELOAD_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#define INSTRUCTION_BYTES 15u /* at most */

#define NO_BASE 0xff

struct instruction {
	uint8_t length;
	uint8_t map; /* 1: one-byte opcodes, 2: 0f, 3: 0f 38, 4: 0f 3a */
	uint8_t opcode;
	bool wide; /* REX.W */
	bool has_modrm;
	uint8_t mod, reg, rm; /* of ModRM, with REX.R and REX.B */
	uint8_t base; /* the register of a memory operand's address; NO_BASE: none, or with an index */
	int32_t displacement;
	int64_t immediate; /* sign-extended; the distance of a relative jump */
};

/* Decodes the instruction at `code`, of which `bytes` can be read. False: it is none, or one that is not known. */
bool instruction_decode(const uint8_t *code, uint64_t bytes, struct instruction *i);

#endif
