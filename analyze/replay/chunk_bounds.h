/* SPDX-License-Identifier: MIT */
/*
 * What a whole chunk does to Massif's counters, from how often each token occurs and from the chunk's sums, and
 * how far up the counters can go meanwhile: enough to pass a chunk over in which nothing can happen. All
 * that is told is true of the single records, or said to be unknown.
 *
 * Let a call change the bytes by b and the blocks by n, and blocks take m bytes each beside their own. What they
 * come to never exceeds max(b) + m * max(n), with the largest running values of either, which chunks
 * store for bytes as requested and for bytes rounded up to 16. A coarser alignment adds to a block at
 * most what it takes more, and frees take that away again: so all allocations together bound it. And whatever
 * counts, it never exceeds what all that come take together.
 */
#ifndef ANALYZE_CHUNK_BOUNDS_H
#define ANALYZE_CHUNK_BOUNDS_H

#include "effect.h"

struct bounds {
	bool known;   /* else nothing of the following is */
	bool changes; /* some call changes the counters, or the trees; bounds_by_sums() doesn't tell */
	uint64_t useful, total; /* by how much there is more of it, modulo 2^64 */
	uint64_t clock;         /* of bytes: how far it moves */
	uint64_t rise;          /* the total is never more than so much above that at the beginning */
};

/*
 * Whether chunks' sums say it all, whatever the tokens are: all blocks count, for what the sums have. The
 * clock of bytes is that of bytes rounded up to 16.
 */
bool bounds_needs_no_tokens(const struct settings *settings);

/* Sizes of a trace's kinds, as they become known. All zero is the beginning. */
struct bounds_sizes {
	uint32_t n;  /* kinds that have been looked at */
	bool insane; /* one is so large that sums might wrap */
};

/* Where bounds_needs_no_tokens() and no kind so far is insane; `known` is false where bounds_over() may know more. */
struct bounds bounds_by_sums(const struct settings *settings, const struct mst_sums *sums);

/* Takes note of the kinds that are new; whether all are sane. */
bool bounds_sizes_sane(struct bounds_sizes *sizes, const struct mst_kind *kinds, uint32_t n);

/* `effects` are those of the chunk's tokens, as effect_of() makes them for a trace that is no sample. */
struct bounds bounds_over(const struct settings *settings, const struct mst_chunk *chunk,
			  const struct mst_kind *kinds, const struct effect *effects);

#endif
