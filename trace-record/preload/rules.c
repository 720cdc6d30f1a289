/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include "recorder_assert.h"

_Alignas(64) _Atomic uint64_t rules[1 << RULE_BUCKET_BITS][RULE_WORDS];
static _Atomic uint64_t rules_closings; /* no rule is of a module closed before */

uint64_t rule_search(const struct rule_place *place)
{
	for (unsigned i = 0; i < RULE_WORDS; i++) {
		uint64_t rule = rule_load(&place->bucket[i]);

		if (rule_is(rule, place))
			return rule;
	}
	return RULE_NONE;
}

void rule_keep(const struct rule_place *place, uint64_t rule)
{
	_Atomic uint64_t *word = place->home;

	for (unsigned i = 0; i < RULE_WORDS && rule_load(word) != 0; i++)
		word = &place->bucket[i];
	if (rule_load(word) != 0)
		word = place->home;
	RECORDER_ASSERT(rule != RULE_NONE && rule >> RULE_TAG_SHIFT == 0);
	RECORDER_ASSERT(word >= place->bucket && word < place->bucket + RULE_WORDS);
	atomic_store_explicit(word, rule | place->tag << RULE_TAG_SHIFT, memory_order_relaxed);
}

void rules_renew(uint64_t closings)
{
	if (atomic_load_explicit(&rules_closings, memory_order_acquire) == closings)
		return;
	for (unsigned bucket = 0; bucket < 1 << RULE_BUCKET_BITS; bucket++)
		for (unsigned i = 0; i < RULE_WORDS; i++)
			if (rule_load(&rules[bucket][i]) != 0)
				atomic_store_explicit(&rules[bucket][i], 0, memory_order_relaxed);
	atomic_store_explicit(&rules_closings, closings, memory_order_release);
}

uint64_t rule_pack(const struct cfi_function *function, const struct cfi_row *row)
{
	uint64_t frame;

	if (row->kind[CFI_RETURN] == CFI_UNDEFINED && !function->signal)
		return RULE_OUTERMOST;
	if (function->signal || row->cfa_is_expression || row->cfa <= 0 || row->cfa % 8 != 0 ||
	    row->kind[CFI_SP] != CFI_SAME)
		return RULE_GENERAL;
	frame = compact_pack(row, (uint64_t)row->cfa / 8);
	if (frame == 0 || (row->cfa_register != CFI_BP && row->cfa_register != CFI_SP))
		return RULE_GENERAL;
	return RULE_COMPACT | (row->cfa_register == CFI_BP ? RULE_FROM_BP : 0) | frame;
}
