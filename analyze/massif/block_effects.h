/* SPDX-License-Identifier: MIT */
/*
 * What each record of a chunk does to Massif's counters where that depends on the single block: Valgrind's model of
 * usable sizes, and the accounts of Massif 3.19 with their mistakes (a realloc that fails, or that leaves or enters an
 * ignored function; extra bytes beyond 32 bits). Only for traces of every block: a sample lacks most.
 */
#ifndef ANALYZE_BLOCK_EFFECTS_H
#define ANALYZE_BLOCK_EFFECTS_H

#include "block_sizes.h"
#include "effect.h"
#include "index_map.h"

struct block_effects {
	const struct settings *settings;
	const struct block_sizes *sizes;
	struct index_map silent; /* blocks of counted kinds that Massif doesn't count */

	/* By record of the present chunk. */
	const uint64_t *blocks, *bytes; /* see block_sizes.h */
	struct effect *effects;
	uint32_t n_effects;
};

void block_effects_finish(struct block_effects *b);

/* Lists the effects of a chunk that `sizes` has seen, from those of its tokens. False: no memory. */
bool block_effects_begin(struct block_effects *b, const struct mst_chunk *chunk,
			 const struct effect *by_token);

/* What a change of `total` is in Massif, which keeps a change of extra bytes in 32 bits. */
uint64_t block_effects_narrow(uint64_t total, uint64_t useful);

#endif
