/* SPDX-License-Identifier: MIT */
#include "entry_code.h"

bool entry_code_piece(uint8_t piece[ENTRY_PIECE], uintptr_t at, const struct entry *entry, uintptr_t base,
		      const struct entry_target *target)
{
	(void)piece;
	(void)at;
	(void)entry;
	(void)base;
	(void)target;
	return false;
}

bool entry_code_jump(uint8_t jump[ENTRY_JUMP_BYTES], uintptr_t at, uintptr_t piece)
{
	(void)jump;
	(void)at;
	(void)piece;
	return false;
}
