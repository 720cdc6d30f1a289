/* SPDX-License-Identifier: MIT */
/*
 * The machine code of a patched entry. Its piece lies near the program, and has two ways in: the one for the jump that
 * replaces the function's first instructions, and the one for the recorder, which runs these instructions and the rest.
 */
#ifndef PRELOAD_ENTRY_CODE_H
#define PRELOAD_ENTRY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "entry_plan.h"

#define ENTRY_PIECE 96u   /* bytes of a piece */
#define ENTRY_REAL_AT 32u /* where in a piece the displaced instructions are */

_Static_assert(ENTRY_REAL_AT + ENTRY_CODE_MOST <= ENTRY_PIECE, "a piece holds both ways");

/* The recorder's function that stands before an entry: of the function's arguments, and one more. */
struct entry_target {
	uintptr_t function;
	unsigned arguments; /* before that one */
	uintptr_t last;     /* its value */
};

/* Writes the piece that will lie at `at`; the program's addresses are `base` higher than the plan's. False: out of reach. */
bool entry_code_piece(uint8_t piece[ENTRY_PIECE], uintptr_t at, const struct entry *entry, uintptr_t base,
		      const struct entry_target *target);

/* Writes the jump from the entry at `at` to the piece. False: out of reach. */
bool entry_code_jump(uint8_t jump[ENTRY_JUMP_BYTES], uintptr_t at, uintptr_t piece);

#endif
