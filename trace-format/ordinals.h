/* SPDX-License-Identifier: MIT */
/*
 * Which block a record frees or names, from its age among the blocks of its kind (FORMAT.md, Identity). A block that
 * came in the chunk is found here, on any thread; one that came before is left to carried_over.h, which takes the
 * chunks in their order. Private.
 */
#ifndef MSTRACE_ORDINALS_H
#define MSTRACE_ORDINALS_H

#include "mstrace.h"

/* The blocks that a kind got in the chunk. */
struct ordinals_kind {
	uint32_t kind;
	uint32_t first; /* in allocs[] */
	uint32_t n;
};

/* A record about a block that came before the chunk. */
struct ordinals_older {
	uint32_t entry; /* in the chunk's freed[] */
	uint32_t kind;
	uint64_t back; /* blocks of the kind from this one up to the chunk; at least 1 */
	bool goes;     /* the record frees it */
};

/* Zero-initialise. The arrays stay from chunk to chunk. */
struct ordinals {
	struct ordinals_kind *kinds; /* [n_kinds] */
	uint32_t n_kinds;
	uint32_t *allocs; /* kind by kind: numbers of the chunk's allocations; | ORDINALS_GONE: freed again */
	struct ordinals_older *carried_over; /* [n_older], in the order of the records */
	uint32_t n_older;
	uint32_t *place_of;                            /* by token: its kind's place in kinds[] */
	uint32_t room_tokens, room_allocs, room_older; /* items that there is memory for */
};

/* Whether records of this role name a block, so that the column of ordinals has an entry for them. */
static inline bool ordinals_has_entry(uint32_t role)
{
	return role != MST_ALLOC && role != MST_CALL;
}

#define ORDINALS_GONE (UINT32_C(1) << 31)

/* One for each thread. Zero-initialise. */
struct ordinals_scratch {
	uint32_t *place_of; /* by kind: 1 + its place in kinds[] while ordinals_begin() runs; else 0 */
	uint32_t n;
};

void ordinals_finish(struct ordinals *ordinals);
void ordinals_scratch_finish(struct ordinals_scratch *scratch);

/* The last age of a token's records. */
struct ordinals_age {
	uint64_t last;
	uint64_t named; /* 1: the token's records name a block, else 0 */
};

/*
 * Makes ages of the differences of the chunk's `n` records that name a block. `in_a_row`: a difference is to the record
 * before, not to the last one of the same token. `by_token`: scratch, an item a token.
 */
void ordinals_ages(const struct mst_chunk *chunk, const uint64_t *differences, uint32_t n, bool in_a_row,
		   struct ordinals_age *by_token, uint64_t *ages);

/*
 * Begins a chunk whose tokens' counts have been checked; `n_kinds`: defined before it; `n_named`: its records that
 * name a block. 0 or MST_ERR_NOMEM.
 */
int ordinals_begin(struct ordinals *ordinals, struct ordinals_scratch *scratch, const struct mst_chunk *chunk,
		   uint32_t n_kinds, uint32_t n_named);

/*
 * Goes over the chunk's records, with the ages in their order. Fills freed[]; a block that came before the chunk is
 * UINT64_MAX there, as an unknown one.
 */
void ordinals_follow(struct ordinals *ordinals, const struct mst_chunk *chunk, const uint64_t *ages,
		     uint64_t *freed);

#endif
