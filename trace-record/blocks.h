/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of a process, by address. The table keeps the blocks of a page of addresses together, so it has the
 * program's locality. A block takes a byte of its address and eight bytes for the rest.
 */
#ifndef TRACE_RECORD_BLOCKS_H
#define TRACE_RECORD_BLOCKS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define BLOCKS_ORDINAL_BITS 39

struct block {
	uint32_t kind;    /* below 2^24 */
	bool frees;       /* free() is the right function for it; false: the kind says which one is */
	uint64_t ordinal; /* blocks of the kind before it; below 2^39 */
};

/* A block in one word; never 0, since the first kind is that of unknown blocks. */
static inline uint64_t block_pack(struct block block)
{
	assert(block.kind < 1u << (63 - BLOCKS_ORDINAL_BITS) && block.ordinal >> BLOCKS_ORDINAL_BITS == 0);
	return (uint64_t)block.kind << (BLOCKS_ORDINAL_BITS + 1) | block.ordinal << 1 | block.frees;
}

static inline struct block block_unpack(uint64_t word)
{
	return (struct block){
		.kind = (uint32_t)(word >> (BLOCKS_ORDINAL_BITS + 1)),
		.frees = word & 1,
		.ordinal = word >> 1 & ((1ull << BLOCKS_ORDINAL_BITS) - 1),
	};
}

/* A hash table of pages with open addressing. A page whose blocks are gone stays until the table is made anew. */
struct blocks {
	struct block_bucket *buckets;
	uint64_t mask;    /* buckets - 1; a power of two, minus one */
	uint64_t n_pages; /* at most half of the buckets, so searches end */
	uint64_t n;       /* blocks: the sum of the pages' */
};

int blocks_init(struct blocks *blocks); /* 0 or -1: no memory */
void blocks_finish(struct blocks *blocks);
int blocks_copy(struct blocks *to, const struct blocks *from);

enum blocks_added { BLOCKS_NO_MEMORY = -1, BLOCKS_ADDED = 0, BLOCKS_LIVE = 1 };

/* Adds a block, not the first one of kind 0; BLOCKS_LIVE: the address has a block, and nothing changes. */
enum blocks_added blocks_add(struct blocks *blocks, uint64_t address, struct block block);

/* False: the address has no block. */
bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block);

/* Takes the block out, in one word. 0: the address has none. */
uint64_t blocks_take_word(struct blocks *blocks, uint64_t address);

/* The same. False: the address has none. */
static inline bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block)
{
	const uint64_t word = blocks_take_word(blocks, address);

	*block = block_unpack(word);
	return word;
}

/* Where a block is kept. */
struct block_ref {
	uint64_t key;        /* orders blocks by kind, those of a kind by age */
	uint64_t *word;      /* in a table of blocks, or NULL, and then ... */
	struct block *block; /* ... here */
};

/* How many blocks there are; references to all of them, in no order. They hold until a block comes or goes. */
uint64_t blocks_count(const struct blocks *blocks);
void blocks_list(const struct blocks *blocks, struct block_ref *refs);

/* Asserts that the table is whole, in O(n). */
void blocks_verify(const struct blocks *blocks);

/* A reference to a block that is kept elsewhere. */
struct block_ref block_at(struct block *block);
struct block block_get(const struct block_ref *ref);
void block_set(const struct block_ref *ref, struct block block);

#endif
