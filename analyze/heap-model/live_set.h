/* SPDX-License-Identifier: MIT */
/*
 * Live blocks, each with how it came to be: by the index of its allocation if frees name their blocks, else only their
 * number by kind. Memory: 24 bytes a live block, and what block_map.h needs. Single-threaded.
 */
#ifndef ANALYZE_LIVE_SET_H
#define ANALYZE_LIVE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block_map.h"
#include "mstrace.h"

struct liveblock {
	uint64_t index; /* of its allocation; UINT64_MAX: unknown, or a vacant item */
	uint64_t time;
	uint32_t kind, thread; /* of a vacant item, `kind` is the next vacant one's number + 1 */
};

/* Zero-initialised is empty. */
struct live_set {
	struct block_map map; /* numbers of items by index */
	struct liveblock *items;
	uint32_t n_items, cap_items;
	uint32_t vacant; /* number + 1 of a vacant item; 0: none */
	uint32_t n;      /* items that are not vacant */
	int64_t *counts; /* [n_counts] by kind: live blocks of unknown index, less frees of unknown blocks */
	uint32_t n_counts;
	uint32_t *came; /* by allocation of the present chunk: its record; UINT32_MAX: the block is gone */
	uint32_t cap_came;
};

void live_set_finish(struct live_set *set);

/* Adds a block. False: no memory. */
bool live_set_put(struct live_set *set, const struct liveblock *block);

/* Takes a block of known index out. False: it is not there. */
bool live_set_take_known(struct live_set *set, uint64_t index);

/* The same, or counts the free of an unknown block of the kind. False: no memory. */
bool live_set_take(struct live_set *set, uint32_t kind, uint64_t index);

/*
 * Follows all records of a chunk. Blocks that come and go within it, which most do, never get into the set. `identity`:
 * the trace names the block of each free. False: no memory.
 */
bool live_set_follow(struct live_set *set, const struct mst_chunk *chunk, bool identity);

/*
 * Returns the live blocks in the order of their indices, those of unknown index last, to be freed. Empties the set.
 * NULL: no memory.
 */
struct liveblock *live_set_list(struct live_set *set, size_t *n);

#endif
