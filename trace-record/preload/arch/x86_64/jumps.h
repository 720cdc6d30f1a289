/* SPDX-License-Identifier: MIT */
/* Whether code jumps into other code, as compilers make it when they move the unlikely parts of a function elsewhere. */
#ifndef PRELOAD_JUMPS_H
#define PRELOAD_JUMPS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Looks for jmp rel32 (e9) and jcc rel32 (0f 80 to 0f 8f) at all bytes: where code begins in between does not matter. */
static inline bool jumps_into(uintptr_t code, uintptr_t code_end, uintptr_t start, uintptr_t end)
{
	for (uintptr_t at = code; code_end - at >= 6; at++) {
		const uint8_t *const bytes = (const uint8_t *)at; // NOLINT(performance-no-int-to-ptr)
		const unsigned opcode = bytes[0] == 0xe9 ? 1 : bytes[0] == 0x0f && bytes[1] >> 4 == 8 ? 2 : 0;
		int32_t distance;

		if (opcode == 0)
			continue;
		memcpy(&distance, bytes + opcode, sizeof(distance));
		if (at + opcode + 4 + (uintptr_t)(intptr_t)distance - start < end - start)
			return true;
	}
	return false;
}

#endif
