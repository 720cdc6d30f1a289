/* SPDX-License-Identifier: MIT */
/*
 * What a whole chunk does to Massif's counters, and how high they can go meanwhile, from how often each token occurs and
 * from the chunk's sums. That is enough to skip a chunk in which nothing can happen. A result is true of the single
 * records, or said to be unknown.
 *
 * The bound: let the running sum of bytes be b, that of blocks n, and let each block take m bytes of admin. The total
 * never exceeds max(b) + m * max(n). Chunks store both maxima, for bytes as requested and rounded up to 16. A coarser
 * alignment adds at most its excess over 16 to each block, and frees take that away again, so the excess of all
 * allocations together bounds it. Whatever counts, the total never rises by more than all allocations take together.
 */
#ifndef ANALYZE_CHUNK_BOUNDS_H
#define ANALYZE_CHUNK_BOUNDS_H

#include "effect.h"

struct bounds {
	bool known;   /* else nothing below is */
	bool changes; /* some call changes the counters, or the trees; not set by bounds_by_sums() */
	uint64_t useful, total; /* change, modulo 2^64 */
	uint64_t clock;         /* how far the clock of bytes moves */
	uint64_t rise;          /* how far the total rises at most above that at the beginning */
};

/*
 * Whether chunks' sums suffice without tokens: all blocks count, with the sizes that sums are of. The clock of bytes is
 * that of bytes rounded up to 16.
 */
bool bounds_needs_no_tokens(const struct settings *settings);

/* Sizes of a trace's kinds, as they become known. Zero-initialise. */
struct bounds_sizes {
	uint32_t n;  /* kinds seen */
	bool insane; /* one is so large that sums might wrap */
};

/* Only if bounds_needs_no_tokens() and all kinds are sane. If unknown, bounds_over() may know. */
struct bounds bounds_by_sums(const struct settings *settings, const struct mst_sums *sums);

/* Looks at the kinds that are new. Returns whether all kinds are sane. */
bool bounds_sizes_sane(struct bounds_sizes *sizes, const struct mst_kind *kinds, uint32_t n);

/* `effects` are those of the chunk's tokens, from effect_of(), for a trace that is no sample. */
struct bounds bounds_over(const struct settings *settings, const struct mst_chunk *chunk,
			  const struct mst_kind *kinds, const struct effect *effects);

#endif
