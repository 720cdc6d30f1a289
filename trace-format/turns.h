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

/* All zero is the beginning. What is left of one chunk is room for the next. */
struct turns {
	struct turns_ring {
		uint32_t first; /* bit of its first block */
		uint32_t n;     /* blocks so far */
		uint32_t live;
		uint32_t at; /* the bit of its place */
	} * rings;           /* one a kind */
	uint32_t *ring_of;   /* by the number of a symbol */
	uint64_t *order;     /* scratch */
	uint32_t n_symbols;  /* that there is room for */
	uint64_t *live;      /* a bit for each block, ring after ring */
	uint16_t *groups;    /* how many of so many bits are set: see turns.c */
	uint32_t *allocs;    /* by bit: which of the chunk's allocations */
	uint32_t *bits;      /* the other way round */
	uint32_t n_words;    /* of `live` that there is room for */
	uint32_t n_allocs;   /* of the chunk so far */
};

void turns_finish(struct turns *turns);

/* Begins a chunk whose symbols are counted, truly. 0 or MST_ERR_NOMEM. */
int turns_begin(struct turns *turns, const struct mst_symbol *symbols, uint32_t n_symbols);

/* A record of a symbol with the role ALLOC. */
void turns_come(struct turns *turns, uint32_t symbol);

/*
 * A record of a symbol that has identity, and names the block of the chunk's allocation `alloc`: its turn; false: that is no live
 * block of the symbol's kind, so it has none.
 */
bool turns_find(struct turns *turns, uint32_t symbol, uint64_t alloc, int64_t *turn);

/* The same the other way round. False: there are not as many live blocks. */
bool turns_take(struct turns *turns, uint32_t symbol, int64_t turn, uint32_t *alloc);

/* The block that was named last goes. */
void turns_go(struct turns *turns, uint32_t symbol);

#endif
