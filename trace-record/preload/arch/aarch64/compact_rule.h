/* SPDX-License-Identifier: MIT */
/*
 * The compact rules of rules.h, of which the processor's calling convention says what nearly all functions need. Bits 3 to 27 of
 * a rule are this file's: CFA = (bp or sp) + 8 * CFA words; the return address is at CFA - 8 * return words, signed or
 * not; the caller's bp is in the word before it, or unchanged.
 */
#ifndef PRELOAD_COMPACT_RULE_H
#define PRELOAD_COMPACT_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"
#include "registers.h"

#define RULE_CFA_SHIFT 3
#define RULE_CFA_WORDS_MAX ((UINT64_C(1) << 12) - 1)
#define RULE_RETURN_SHIFT 15
#define RULE_RETURN_WORDS_MAX ((UINT64_C(1) << 11) - 1)
#define RULE_MOVES_BP (UINT64_C(1) << 26)
#define RULE_SIGNED (UINT64_C(1) << 27)

/* These bits for a row whose CFA is a register and an offset of `words`; 0: they cannot hold it. */
static inline uint64_t compact_pack(const struct cfi_row *row, uint64_t words)
{
	const int64_t return_at = row->value[CFI_RETURN];
	const uint64_t return_words = (uint64_t)-return_at / 8;
	uint64_t rule = words << RULE_CFA_SHIFT | return_words << RULE_RETURN_SHIFT;

	if (row->kind[CFI_RETURN] != CFI_OFFSET || return_at >= 0 || return_at % 8 != 0 ||
	    return_words > RULE_RETURN_WORDS_MAX || words > RULE_CFA_WORDS_MAX)
		return 0;
	if (row->kind[CFI_BP] == CFI_OFFSET && row->value[CFI_BP] == return_at - 8)
		rule |= RULE_MOVES_BP;
	else if (row->kind[CFI_BP] != CFI_SAME)
		return 0;
	return rule | (row->signed_return ? RULE_SIGNED : 0);
}

/* Where the return address is. */
static inline uintptr_t compact_return_at(uint64_t rule, uintptr_t cfa)
{
	return cfa - 8 * ((rule >> RULE_RETURN_SHIFT) & RULE_RETURN_WORDS_MAX);
}

static inline bool compact_moves_bp(uint64_t rule)
{
	return rule & RULE_MOVES_BP;
}

/* Where the caller's bp is, if compact_moves_bp(). No address that the step reads is lower. */
static inline uintptr_t compact_bp_at(uint64_t rule, uintptr_t cfa)
{
	return compact_return_at(rule, cfa) - (compact_moves_bp(rule) ? 8 : 0);
}

/* The return address that a word holds. */
static inline uintptr_t compact_return(uint64_t rule, uintptr_t word)
{
	return rule & RULE_SIGNED ? return_address(word) : word;
}

#endif
