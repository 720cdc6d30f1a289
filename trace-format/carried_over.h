/* SPDX-License-Identifier: MIT */
/*
 * Carried-over blocks: those of earlier chunks that are live, by kind and ordinal, with the allocations that gave
 * them. The reader hands over the chunks in the order of the file. What a chunk leaves of a kind stays an array as in
 * the chunk, 4 bytes a block, until few of its blocks are live; these, and small leftovers, go to a map. Memory: up to
 * 96 bytes for each block that is live at the end of some chunk. Private.
 */
#ifndef MSTRACE_CARRIED_OVER_H
#define MSTRACE_CARRIED_OVER_H

#include "index_map.h"
#include "ordinals.h"

/* Blocks that one chunk left of a kind, with ordinals from `ordinal` on. live <= n. */
struct leftover {
	uint64_t ordinal;
	uint64_t first_alloc; /* of the chunk */
	uint32_t *allocs;     /* [n], as in ordinals.h; NULL if n is 0 */
	uint32_t n, live;     /* n 0: what was left is in the map */
};

struct carried_over_kind {
	uint64_t count;             /* blocks so far */
	struct leftover *leftovers; /* [n], by ordinal */
	uint32_t n;
	uint32_t gone; /* leftovers with n = 0; <= n */
};

/* Zero-initialise at the beginning of a trace. */
struct carried_over {
	struct carried_over_kind *kinds;
	uint32_t n_kinds;
	struct index_map rest; /* indices of the other blocks, by kind and ordinal */
};

void carried_over_finish(struct carried_over *carried_over);

/*
 * Puts the indices of blocks that came before the chunk into freed[], and keeps the chunk's own live blocks. `whole`:
 * no chunk before it was passed over. NULL, or what is wrong; "" if memory runs out.
 */
const char *carried_over_take(struct carried_over *carried_over, const struct ordinals *ordinals,
			      uint64_t first_alloc, bool whole, uint64_t *freed);

#endif
