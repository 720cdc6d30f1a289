/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of former chunks, by kind and rank: which allocations gave them. Goes over the chunks in the
 * order of the file. Memory: up to 96 bytes for each block that is live at the end of some chunk. Private.
 */
#ifndef MSTRACE_ELDERS_H
#define MSTRACE_ELDERS_H

#include "indexmap.h"
#include "ranks.h"

/* All zero is the beginning of a trace. */
struct elders {
	uint64_t *counts; /* by kind: its blocks so far */
	uint32_t n_counts;
	struct indexmap blocks; /* indices by kind and rank */
};

void elders_finish(struct elders *elders);

/*
 * Puts the indices of blocks that came before the chunk into freed[], and keeps what stays of the chunk's own. `whole`: all
 * chunks before it have been here. NULL, or what is wrong: "" for no memory.
 */
const char *elders_take(struct elders *elders, const struct ranks *ranks, uint64_t first_alloc, bool whole,
			uint64_t *freed);

#endif
