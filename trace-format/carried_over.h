/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of former chunks, by kind and ordinal: which allocations gave them. Goes over the chunks in the
 * order of the file. What a chunk leaves of a kind stays as it lay in the chunk, 4 bytes a block, until only a few
 * of it are live; these, and what was few from the beginning, are in a map. Memory: up to 96 bytes for each block
 * that is live at the end of some chunk. Private.
 */
#ifndef MSTRACE_CARRIED_OVER_H
#define MSTRACE_CARRIED_OVER_H

#include "index_map.h"
#include "ordinals.h"

/* Blocks that one chunk left of a kind, from one ordinal on. */
struct brood {
	uint64_t ordinal;
	uint64_t first_alloc; /* of the chunk */
	uint32_t *allocs;     /* [n], as in ranks.h */
	uint32_t n, live;     /* 0: what was left is in the map */
};

struct carried_over_kind {
	uint64_t count;       /* its blocks so far */
	struct brood *broods; /* [n], by ordinal */
	uint32_t n;
	uint32_t gone; /* so many are empty */
};

/* All zero is the beginning of a trace. */
struct carried_over {
	struct carried_over_kind *kinds;
	uint32_t n_kinds;
	struct index_map rest; /* indices by kind and ordinal */
};

void carried_over_finish(struct carried_over *carried_over);

/*
 * Puts the indices of blocks that came before the chunk into freed[], and keeps what stays of the chunk's
 * own. `whole`: all chunks before it have been here. NULL, or what is wrong: "" for no memory.
 */
const char *carried_over_take(struct carried_over *carried_over, const struct ordinals *ordinals,
			      uint64_t first_alloc, bool whole, uint64_t *freed);

#endif
