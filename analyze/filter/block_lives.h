/* SPDX-License-Identifier: MIT */
/*
 * An observer that finds the blocks whose lifetimes lie in given ranges. A lifetime is that of lives.h: of a chain of
 * reallocs from its first block's allocation to its last block's free, in time or in the calls between. A block that is
 * live at the end lives until then.
 *
 * Memory: 24 bytes a live block and what block_map.h needs; a bit for each block that there ever was. Single-threaded.
 */
#ifndef ANALYZE_BLOCK_LIVES_H
#define ANALYZE_BLOCK_LIVES_H

#include "observer.h"

/* Both ends are included. */
struct block_range {
	uint64_t least, most;
	bool calls; /* of lifetimes: allocations of all threads, not ns */
};

struct block_lives;

/*
 * Events at `before_ns` and later don't count: all ends a millisecond before it. UINT64_MAX: all count. The ranges must
 * outlive it. NULL: no memory.
 */
struct block_lives *block_lives_create(const struct block_range *ranges, size_t n, uint64_t before_ns);
void block_lives_destroy(struct block_lives *lives); /* NULL is allowed */

struct observer *block_lives_observer(struct block_lives *lives);

/* After the replay, for the blocks live at the end, which the trace reached at `end_ns`. False: no memory. */
bool block_lives_end(struct block_lives *lives, uint64_t end_ns);

/* Whether the lifetime of the chain that begins with a block lies in a range. */
bool block_lives_passes(const struct block_lives *lives, uint64_t index);

#endif
