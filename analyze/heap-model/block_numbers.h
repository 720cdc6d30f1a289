/* SPDX-License-Identifier: MIT */
/*
 * A dense number for each live block, for arrays of what is known of each: a block that goes leaves its number to one
 * that comes later. Most blocks go in the chunk in which they came, so a block_map gets only those that don't.
 * Single-threaded.
 */
#ifndef ANALYZE_BLOCK_NUMBERS_H
#define ANALYZE_BLOCK_NUMBERS_H

#include <assert.h>

#include "block_map.h"
#include "mstrace.h"

/* Zero-initialise. */
struct block_numbers {
	uint32_t n;       /* numbers below it have been given */
	uint32_t *unused; /* [n_unused] of them, the next one last */
	uint32_t n_unused, room_unused;
	uint32_t *recent; /* [n_recent] of the present chunk's blocks; BLOCK_MAP_NONE: the block is gone */
	uint32_t n_recent, room_recent;
	uint64_t first; /* index of the first of these */
	struct block_map map;
};

void block_numbers_finish(struct block_numbers *numbers);

/* Before the blocks of a decoded chunk. False: no memory. */
bool block_numbers_begin(struct block_numbers *numbers, const struct mst_chunk *chunk);

/* The number, at most `n`, of the chunk's next allocation. */
static inline uint32_t block_numbers_give(struct block_numbers *numbers)
{
	const uint32_t number = numbers->n_unused ? numbers->unused[--numbers->n_unused] : numbers->n++;
	assert(numbers->n_recent < numbers->room_recent && numbers->n <= numbers->room_unused);
	return numbers->recent[numbers->n_recent++] = number;
}

/* The number of a block that goes, which the next block gets. False: the block, an index, has none. */
static inline bool block_numbers_take(struct block_numbers *numbers, uint64_t block, uint32_t *number)
{
	if (block - numbers->first < numbers->n_recent) {
		uint32_t *const recent = &numbers->recent[block - numbers->first];
		*number = *recent;
		*recent = BLOCK_MAP_NONE;
		if (*number == BLOCK_MAP_NONE)
			return false;
	} else if (!block_map_take(&numbers->map, block, number)) {
		return false;
	}
	assert(numbers->n_unused < numbers->n);
	numbers->unused[numbers->n_unused++] = *number;
	return true;
}

#endif
