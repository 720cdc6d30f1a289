/* SPDX-License-Identifier: MIT */
/*
 * Which blocks are live, and how each came to be: by the index of its allocation where frees are told by index, else
 * only how many there are of each kind.
 */
#ifndef ANALYZE_LIVE_SET_H
#define ANALYZE_LIVE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cohorts.h"
#include "mstrace.h"

/* All zero is an empty set. */
struct live_set {
	struct cohorts known;
	int64_t *counts; /* by kind: live blocks of unknown index, less frees of them */
	uint32_t n_counts;
	uint32_t *came; /* at which records of the present chunk its blocks did, unless they are gone */
	uint32_t cap_came;
};

void live_set_finish(struct live_set *set);

/* Both: false: no memory. A block that goes and isn't there is one of its kind of which nothing is known. */
bool live_set_put(struct live_set *set, const struct liveblock *block);
bool live_set_take(struct live_set *set, uint32_t kind, uint64_t index);

/*
 * The same for all records of a chunk, most of whose blocks are gone at its end as a rule: those never get
 * into the set. `identity`: the trace says which block each free gives back.
 */
bool live_set_follow(struct live_set *set, const struct mst_chunk *chunk, bool identity);

/*
 * The live blocks in the order of their indices, those that have none last, for the caller to free. After that the
 * set is empty. NULL: no memory.
 */
struct liveblock *live_set_list(struct live_set *set, size_t *n);

#endif
