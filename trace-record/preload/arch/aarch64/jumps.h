/* SPDX-License-Identifier: MIT */
/* Whether code jumps into other code, as compilers make it when they move the unlikely parts of a function elsewhere. */
#ifndef PRELOAD_JUMPS_H
#define PRELOAD_JUMPS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The distance of a branch, in bytes; 0: it is none, or one of a call. */
static inline int64_t jump_distance(uint32_t instruction)
{
	unsigned bits, shift;

	if ((instruction & 0xfc000000) == 0x14000000) { /* b */
		bits = 26;
		shift = 0;
	} else if ((instruction & 0xff000000) == 0x54000000 || (instruction & 0x7e000000) == 0x34000000) {
		bits = 19; /* b.cond, cbz, cbnz */
		shift = 5;
	} else if ((instruction & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		bits = 14;
		shift = 5;
	} else {
		return 0;
	}
	return ((int64_t)((uint64_t)instruction << (64 - bits - shift)) >> (64 - bits)) * 4;
}

static inline bool jumps_into(uintptr_t code, uintptr_t code_end, uintptr_t start, uintptr_t end)
{
	for (uintptr_t at = code; code_end - at >= 4; at += 4) {
		uint32_t instruction;
		int64_t distance;

		memcpy(&instruction, (const void *)at,
		       sizeof(instruction)); // NOLINT(performance-no-int-to-ptr)
		distance = jump_distance(instruction);
		if (distance != 0 && at + (uintptr_t)distance - start < end - start)
			return true;
	}
	return false;
}

#endif
