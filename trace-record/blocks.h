/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of a process, by address. The table keeps the blocks of a page of addresses together, so it has the
 * program's locality. A block takes a byte of its address and eight bytes for kind and ordinal.
 */
#ifndef TRACE_RECORD_BLOCKS_H
#define TRACE_RECORD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCKS_ORDINAL_BITS 40

struct block {
	uint32_t kind;    /* below 2^24 */
	uint64_t ordinal; /* blocks of the kind before it; below 2^40 */
};

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

/* Takes the block out. False: the address has none. */
bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block);

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
