/* SPDX-License-Identifier: MIT */
/*
 * The compact rules of rules.h, of which the processor's calling convention says what nearly all functions need. Bits 3 to 27 of
 * a rule are this file's: CFA = (bp or sp) + 8 * CFA words; the return address is at CFA - 8; the caller's bp at
 * CFA - 8 * BP words, or unchanged if that is 0.
 */
#ifndef PRELOAD_COMPACT_RULE_H
#define PRELOAD_COMPACT_RULE_H

#include <stdint.h>

#include "cfi.h"

#define RULE_CFA_SHIFT 3
#define RULE_CFA_WORDS_MAX ((UINT64_C(1) << 17) - 1)
#define RULE_BP_SHIFT 20
#define RULE_BP_WORDS_MAX UINT64_C(255)

/* These bits for a row whose CFA is a register and an offset of `words`; 0: they cannot hold it. */
static inline uint64_t compact_pack(const struct cfi_row *row, uint64_t words)
{
	uint64_t bp_words = 0;

	if (row->kind[CFI_RETURN] != CFI_OFFSET || row->value[CFI_RETURN] != -8)
		return 0;
	if (row->kind[CFI_BP] == CFI_OFFSET && row->value[CFI_BP] < 0 && row->value[CFI_BP] % 8 == 0)
		bp_words = (uint64_t)-row->value[CFI_BP] / 8;
	else if (row->kind[CFI_BP] != CFI_SAME)
		return 0;
	if (words > RULE_CFA_WORDS_MAX || bp_words > RULE_BP_WORDS_MAX)
		return 0;
	return words << RULE_CFA_SHIFT | bp_words << RULE_BP_SHIFT;
}

/* Where the return address is. */
static inline uintptr_t compact_return_at(uint64_t rule, uintptr_t cfa)
{
	(void)rule;
	return cfa - 8;
}

/* Where the caller's bp is, if compact_moves_bp(). No address that the step reads is lower; else it is the CFA. */
static inline uintptr_t compact_bp_at(uint64_t rule, uintptr_t cfa)
{
	return cfa - 8 * ((rule >> RULE_BP_SHIFT) & RULE_BP_WORDS_MAX);
}

static inline bool compact_moves_bp(uint64_t rule)
{
	return (rule >> RULE_BP_SHIFT) & RULE_BP_WORDS_MAX;
}

/* The return address that a word holds. */
static inline uintptr_t compact_return(uint64_t rule, uintptr_t word)
{
	(void)rule;
	return word;
}

#endif
