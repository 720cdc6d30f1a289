/* SPDX-License-Identifier: MIT */
/*
 * Sums over short spells of a chunk's records, so that many settings can each pass over what is of no
 * interest to them. Made by the threads that decode chunks. Of use where all blocks count and take their size
 * rounded up.
 */
#ifndef ANALYZE_WINDOW_SUMS_H
#define ANALYZE_WINDOW_SUMS_H

#include "mstrace.h"

/* Some calls in a row, and what they do if all blocks count. Most is seen from the start of the spell. */
struct spell {
	uint32_t end;                       /* the first record behind it, where a call begins */
	uint32_t changes;                   /* calls that change anything */
	uint64_t useful, rounded, blocks;   /* by how much there is more of it, modulo 2^64 */
	uint64_t most_rounded, most_blocks; /* how much more there is at most, after any call */
	uint64_t moved, steps;              /* sums of the absolute changes by each call */
};

struct digest;

/*
 * Before the reader's first chunk. Sizes are rounded up to `alignment`, a power of two. NULL: no memory, or too many of
 * different alignments.
 */
struct digest *digest_create(struct mst_reader *reader, unsigned alignment);
void digest_destroy(struct digest *digest); /* NULL is allowed */
unsigned digest_alignment(const struct digest *digest);

/* The spells of the reader's present chunk, which is decoded; together they are all of it. */
const struct spell *digest_spells(const struct digest *digest);

#endif
