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

struct block_effects {
	const struct settings *settings;
	const struct block_sizes *sizes;
	struct index_map silent; /* blocks of counted kinds that don't count */

	/* By record of the present chunk. */
	const uint64_t *blocks, *bytes; /* see usable.h */
	struct effect *effects;         /* if it lists them */
	uint32_t n_effects;
};

void block_effects_finish(struct block_effects *b);

/* Whether it lists effects. If Massif makes no mistakes, they are found when they are asked for. */
static inline bool block_effects_lists(const struct block_effects *b)
{
	return b->settings->compat != COMPAT_FIXED;
}

/*
 * What record `i` does, if effects aren't listed, from those of the chunk's tokens, which say all but what
 * single blocks take.
 */
static inline struct effect block_effects_effect(const struct block_effects *b, const uint16_t *records,
						 const struct effect *by_token, uint32_t i)
{
	struct effect e = by_token[records[i]];

	effect_charge(&e, b->settings, b->bytes[i] + b->settings->heap_admin);
	return e;
}

/*
 * Whether all that is known of the pair that begins with record `i` is that a block has come: the other was never
 * seen allocated.
 */
static inline bool block_effects_lacks(const struct block_effects *b, const uint16_t *records,
				       const struct effect *by_token, uint32_t i)
{
	return b->blocks[i] == UINT64_MAX && by_token[records[i + 1]].comes;
}

/* Begins a chunk, which `usable` has seen. Lists its effects, both records of a pair at once. False: no memory. */
bool block_effects_begin(struct block_effects *b, const struct mst_chunk *chunk,
			 const struct effect *by_token);

/* Massif keeps a change of extra bytes in 32 bits: what a change of `total` is with it. */
uint64_t block_effects_narrow(uint64_t total, uint64_t useful);

#endif
