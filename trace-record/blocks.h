/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of a process, by address. Blocks of a page of addresses lie together, so that a
 * program's locality is the table's, and a block takes little more than the eight bytes that say
 * what it is.
 */
#ifndef TRACE_RECORD_BLOCKS_H
#define TRACE_RECORD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "slabs.h"

#define BLOCKS_PAGE_BITS 11

struct block {
	uint32_t kind; /* below 2^24 */
	uint64_t rank; /* blocks of the kind before it; below 2^40 */
};

/* A page's blocks in no order: tags[i] says where in the page slot i is. */
struct block_page {
	uint16_t n, capacity;
	uint16_t slots; /* bytes from here to them */
	uint8_t class;  /* in the slabs */
	uint8_t unused;
	uint8_t tags[]; /* as many as there are slots, a multiple of thirty-two */
};

/* Open addressing. A page whose blocks are gone stays until the table is made anew. */
struct blocks {
	struct block_place {
		uint64_t key; /* see blocks_key(); 0 = free place */
		struct block_page *page;
	} * places;
	uint64_t mask, used;
	struct slabs slabs; /* of pages */
};

int blocks_init(struct blocks *blocks); /* 0 or -1: no memory */
void blocks_finish(struct blocks *blocks);
int blocks_copy(struct blocks *to, const struct blocks *from);

enum blocks_added { BLOCKS_NO_MEMORY = -1, BLOCKS_ADDED = 0, BLOCKS_LIVE = 1 };

/* Adds a block; BLOCKS_LIVE: there is one at this address, and nothing was done. */
enum blocks_added blocks_add(struct blocks *blocks, uint64_t address, struct block block);
bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block);
/* Takes the block out; false if there is none. */
bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block);

/* Where a block is kept. */
struct block_ref {
	uint64_t key;        /* orders blocks by kind, those of a kind as they came */
	uint64_t *slot;      /* in a table of blocks, or NULL, and then ... */
	struct block *block; /* ... here */
};

/* How many blocks there are; references to all of them, in no order. They hold until a block comes or goes. */
uint64_t blocks_count(const struct blocks *blocks);
void blocks_list(const struct blocks *blocks, struct block_ref *refs);

/* A reference to one that is kept elsewhere. */
struct block_ref block_at(struct block *block);
/* What is referred to, and something else in its place. */
struct block block_get(const struct block_ref *ref);
void block_set(const struct block_ref *ref, struct block block);

/* The page that an address is in; what is not a multiple of eight is in pages of its own. Never 0. */
static inline uint64_t blocks_key(uint64_t address)
{
	return (address << 61 | address >> 3) >> (BLOCKS_PAGE_BITS - 3) | (uint64_t)1 << 63;
}

static inline struct block_place *blocks_home(const struct blocks *blocks, uint64_t key)
{
	return &blocks->places[(key * 0x9e3779b97f4a7c15u) >> 20 & blocks->mask];
}

/*
 * These say, one after the other and with some work between, that an address will be looked for soon. Always
 * in line: a function that only prefetches is one without effect to the compiler.
 */
static inline __attribute__((always_inline)) void blocks_expect(const struct blocks *blocks, uint64_t address)
{
	__builtin_prefetch(blocks_home(blocks, blocks_key(address)));
}

static inline __attribute__((always_inline)) void blocks_expect_page(const struct blocks *blocks,
								     uint64_t address)
{
	const uint64_t key = blocks_key(address);
	const struct block_place *place = blocks_home(blocks, key);

	const char *const page = (const char *)place->page;

	/* All of what a page usually is, wherever in it the block will be found. */
	if (place->key == key) {
		__builtin_prefetch(page, 1);
		__builtin_prefetch(page + 64, 1);
		__builtin_prefetch(page + 128, 1);
		__builtin_prefetch(page + 192, 1);
		__builtin_prefetch(page + 256, 1);
	}
}

#endif
