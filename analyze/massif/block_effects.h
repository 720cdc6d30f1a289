/* SPDX-License-Identifier: MIT */
/*
 * What each record of a chunk does to Massif's counters where that depends on the single block: Valgrind's model of
 * usable sizes, and the accounts of Massif 3.19 with their mistakes (a realloc that fails, or that leaves or enters an
 * ignored function; extra bytes beyond 32 bits). Only for traces of every block: a sample lacks most.
 */
#ifndef ANALYZE_BLOCK_EFFECTS_H
#define ANALYZE_BLOCK_EFFECTS_H

#include <assert.h>

#include "block_sizes.h"
#include "effect.h"
#include "index_map.h"

struct block_effects {
	const struct settings *settings;
	const struct block_sizes *sizes;
	struct index_map silent; /* blocks of counted kinds that Massif doesn't count */

	/* By record of the present chunk. */
	const uint64_t *blocks, *bytes; /* see block_sizes.h */
	struct effect *effects;         /* if block_effects_lists() */
	uint32_t n_effects;
};

void block_effects_finish(struct block_effects *b);

/* Whether the chunk's effects are listed: with Massif's mistakes. Else block_effects_effect() makes them. */
static inline bool block_effects_lists(const struct block_effects *b)
{
	return b->settings->compat != COMPAT_FIXED;
}

/*
 * What record `i` does, if effects aren't listed: the effect of its token, with what the single block takes.
 */
static inline struct effect block_effects_effect(const struct block_effects *b, const uint16_t *records,
						 const struct effect *by_token, uint32_t i)
{
	struct effect e = by_token[records[i]];

	assert(!block_effects_lists(b));
	effect_charge(&e, b->settings, b->bytes[i] + b->settings->heap_admin);
	return e;
}

/*
 * Whether the pair that begins with record `i` frees a block that was never seen allocated. Only the block that comes
 * counts then.
 */
static inline bool block_effects_lacks(const struct block_effects *b, const uint16_t *records,
				       const struct effect *by_token, uint32_t i)
{
	return b->blocks[i] == UINT64_MAX && by_token[records[i + 1]].comes;
}

/* Begins a chunk that `sizes` has seen, and lists its effects if need be. False: no memory. */
bool block_effects_begin(struct block_effects *b, const struct mst_chunk *chunk,
			 const struct effect *by_token);

/* What a change of `total` is in Massif, which keeps a change of extra bytes in 32 bits. */
uint64_t block_effects_narrow(uint64_t total, uint64_t useful);

#endif
