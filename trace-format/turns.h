/* SPDX-License-Identifier: MIT */
/*
 * Which block a record frees, said by where it is among the live ones of its kind that came in the same chunk
 * (FORMAT.md, column 12). In the order in which they came these form a ring, the newest before the oldest, and each ring has a
 * place: that of the last block that a record named. A turn is how many live blocks further on, or back, the next one is. Programs
 * go through their blocks in orders that make that a small number, whatever lies between. Private.
 */
#ifndef MSTRACE_TURNS_H
#define MSTRACE_TURNS_H

#include "mstrace.h"

#define TURNS_WORD_BITS 64u
#define TURNS_GROUP_BITS 512u  /* so that a long way is not too many words ... */
#define TURNS_LARGE_BITS 8192u /* ... or too many groups */

/* All zero is the beginning. What is left of one chunk is room for the next. */
struct turns {
	struct turns_ring {
		uint32_t first; /* bit of its first block */
		uint32_t n;     /* blocks so far */
		uint32_t live;
		uint32_t at;      /* the bit of its place */
	} * rings;                /* one a kind */
	uint32_t *ring_of;        /* by the number of a symbol */
	uint64_t *order;          /* scratch */
	uint32_t n_symbols;       /* that there is room for */
	uint64_t *live;           /* a bit for each block, ring after ring */
	uint16_t *groups, *large; /* how many of TURNS_GROUP_BITS, TURNS_LARGE_BITS are set */
	uint32_t *allocs;         /* by bit: which of the chunk's allocations */
	uint32_t n_words;         /* of `live` that there is room for */
	uint32_t n_allocs;        /* of the chunk so far */
};

void turns_finish(struct turns *turns);

/* Begins a chunk whose symbols are counted, truly. 0 or MST_ERR_NOMEM. */
int turns_begin(struct turns *turns, const struct mst_symbol *symbols, uint32_t n_symbols);

/* A record of a symbol with the role ALLOC. Returns the block's bit. */
static inline uint32_t turns_come(struct turns *turns, uint32_t symbol)
{
	struct turns_ring *const ring = &turns->rings[turns->ring_of[symbol]];
	const uint32_t bit = ring->first + ring->n++;

	ring->live++;
	turns->live[bit / TURNS_WORD_BITS] |= UINT64_C(1) << bit % TURNS_WORD_BITS;
	turns->groups[bit / TURNS_GROUP_BITS]++;
	turns->large[bit / TURNS_LARGE_BITS]++;
	turns->allocs[bit] = turns->n_allocs++;
	return bit;
}

/* A record of a symbol that has identity names the block of this bit: its turn; false: that is no live block of the symbol's kind. */
bool turns_find(struct turns *turns, uint32_t symbol, uint32_t bit, int64_t *turn);

/* Goes so many blocks on, or back; one of them is live at least. */
void turns_walk(const struct turns *turns, struct turns_ring *ring, int64_t turn);

/* The same as turns_find(), the other way round. False: there are not as many live blocks. */
static inline bool turns_take(struct turns *turns, uint32_t symbol, int64_t turn, uint32_t *alloc)
{
	struct turns_ring *const ring = &turns->rings[turns->ring_of[symbol]];
	const uint64_t here = turns->live[ring->at / TURNS_WORD_BITS] >> ring->at % TURNS_WORD_BITS;

	if (turn >= (int64_t)ring->live || turn < -(int64_t)ring->live)
		return false;
	if (turn == 0 && here)
		ring->at += (uint32_t)__builtin_ctzll(here);
	else
		turns_walk(turns, ring, turn);
	*alloc = turns->allocs[ring->at];
	return true;
}

/* The block that was named last goes. */
static inline void turns_go(struct turns *turns, uint32_t symbol)
{
	struct turns_ring *const ring = &turns->rings[turns->ring_of[symbol]];

	ring->live--;
	turns->live[ring->at / TURNS_WORD_BITS] &= ~(UINT64_C(1) << ring->at % TURNS_WORD_BITS);
	turns->groups[ring->at / TURNS_GROUP_BITS]--;
	turns->large[ring->at / TURNS_LARGE_BITS]--;
}

#endif
