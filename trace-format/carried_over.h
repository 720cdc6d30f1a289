/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of former chunks, by kind and rank: which allocations gave them. Goes over the chunks in the
 * order of the file. What a chunk leaves of a kind stays as it lay in the chunk, 4 bytes a block, until only a few
 * of it are live; these, and what was few from the beginning, are in a map. Memory: up to 96 bytes for each block
 * that is live at the end of some chunk. Private.
 */
#ifndef MSTRACE_CARRIED_OVER_H
#define MSTRACE_CARRIED_OVER_H

#include "index_map.h"
#include "ordinals.h"

/* Blocks that one chunk left of a kind, from one rank on. */
struct brood {
	uint64_t rank;
	uint64_t first_alloc; /* of the chunk */
	uint32_t *allocs;     /* [n], as in ranks.h */
	uint32_t n, live;     /* 0: what was left is in the map */
};

struct elders_kind {
	uint64_t count;       /* its blocks so far */
	struct brood *broods; /* [n], by rank */
	uint32_t n;
	uint32_t gone; /* so many are empty */
};

/* All zero is the beginning of a trace. */
struct elders {
	struct elders_kind *kinds;
	uint32_t n_kinds;
	struct indexmap rest; /* indices by kind and rank */
};

void elders_finish(struct elders *elders);

/*
 * Puts the indices of blocks that came before the chunk into freed[], and keeps what stays of the chunk's
 * own. `whole`: all chunks before it have been here. NULL, or what is wrong: "" for no memory.
 */
const char *elders_take(struct elders *elders, const struct ranks *ranks, uint64_t first_alloc, bool whole,
			uint64_t *freed);

#endif
