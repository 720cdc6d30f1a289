/* SPDX-License-Identifier: MIT */
/*
 * What each record of a chunk does to Massif's counters, where that depends on the single block:
 * Valgrind's model of usable sizes, and the accounts of Massif 3.19 with their errors (a realloc
 * that fails, or that leaves or enters an ignored function; extra bytes beyond 32 bits). A sample doesn't
 * have every single block: only for traces that do.
 */
#ifndef ANALYZE_BLOCK_EFFECTS_H
#define ANALYZE_BLOCK_EFFECTS_H

#include "block_sizes.h"
#include "effect.h"
#include "index_map.h"

struct ledger {
	const struct settings *settings;
	const struct usable *usable;
	struct indexmap silent; /* blocks of counted kinds that don't count */

	/* By record of the present chunk. */
	const uint64_t *blocks, *bytes; /* see usable.h */
	struct effect *effects;         /* if it lists them */
	uint32_t n_effects;
};

void ledger_finish(struct ledger *ledger);

/* Whether it lists effects. If Massif makes no mistakes, they are found when they are asked for. */
static inline bool ledger_lists(const struct ledger *ledger)
{
	return ledger->settings->compat != COMPAT_FIXED;
}

/*
 * What record `i` does, if effects aren't listed, from those of the chunk's symbols, which say all but what
 * single blocks take.
 */
static inline struct effect ledger_effect(const struct ledger *ledger, const uint16_t *records,
					  const struct effect *by_symbol, uint32_t i)
{
	struct effect e = by_symbol[records[i]];

	effect_charge(&e, ledger->settings, ledger->bytes[i] + ledger->settings->heap_admin);
	return e;
}

/*
 * Whether all that is known of the pair that begins with record `i` is that a block has come: the other was never
 * seen allocated.
 */
static inline bool ledger_lacks(const struct ledger *ledger, const uint16_t *records,
				const struct effect *by_symbol, uint32_t i)
{
	return ledger->blocks[i] == UINT64_MAX && by_symbol[records[i + 1]].comes;
}

/* Begins a chunk, which `usable` has seen. Lists its effects, both records of a pair at once. False: no memory. */
bool ledger_begin(struct ledger *ledger, const struct mst_chunk *chunk, const struct effect *by_symbol);

/* Massif keeps a change of extra bytes in 32 bits: what a change of `total` is with it. */
uint64_t ledger_narrow(uint64_t total, uint64_t useful);

#endif
