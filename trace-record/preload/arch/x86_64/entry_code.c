/* SPDX-License-Identifier: MIT */
#include "entry_code.h"

#include <string.h>

/* The distance of `to` from `end`, the end of an instruction. */
static bool put_distance(uint8_t *at, uintptr_t end, uintptr_t to)
{
	const int64_t distance = (int64_t)(to - end);
	const int32_t near = (int32_t)distance;

	memcpy(at, &near, sizeof(near));
	return near == distance;
}

/* The program's registers stay, but for the one of the additional argument. */
static void put_way_in(uint8_t *piece, const struct entry_target *target)
{
	/* mov $last, %rdi, %rsi, %rdx, %rcx, %r8 */
	static const uint8_t moves[][2] = {
		{ 0x48, 0xbf }, { 0x48, 0xbe }, { 0x48, 0xba }, { 0x48, 0xb9 }, { 0x49, 0xb8 }
	};
	/* jmp *0(%rip), in front of the address */
	static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };

	_Static_assert(2 + 8 + sizeof(jump) + 8 <= ENTRY_REAL_AT, "the first way ends before the second");
	memcpy(piece, moves[target->arguments], 2);
	memcpy(piece + 2, &target->last, 8);
	memcpy(piece + 10, jump, sizeof(jump));
	memcpy(piece + 10 + sizeof(jump), &target->function, 8);
}

bool entry_code_piece(uint8_t piece[ENTRY_PIECE], uintptr_t at, const struct entry *entry, uintptr_t base,
		      const struct entry_target *target)
{
	uint8_t *const real = piece + ENTRY_REAL_AT;
	bool reaches = true;

	memset(piece, 0xcc, ENTRY_PIECE);
	put_way_in(piece, target);
	memcpy(real, entry->code, entry->n_code);
	for (unsigned i = 0; i < entry->n_fixes; i++) {
		const struct entry_fix *fix = &entry->fixes[i];
		const uintptr_t named = base + fix->target;

		if (fix->end)
			reaches &= put_distance(real + fix->at, at + ENTRY_REAL_AT + fix->end, named);
		else
			memcpy(real + fix->at, &named, sizeof(named));
	}
	return reaches;
}

bool entry_code_jump(uint8_t jump[ENTRY_JUMP_BYTES], uintptr_t at, uintptr_t piece)
{
	jump[0] = 0xe9;
	return put_distance(jump + 1, at + ENTRY_JUMP_BYTES, piece);
}
