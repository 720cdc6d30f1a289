/* SPDX-License-Identifier: MIT */
/*
 * The live blocks of a process, by address. Blocks of a page of addresses lie together, so that a
 * program's locality is the table's, and a block takes little more than the eight bytes that say
 * what it is.
 *
 * In front of the pages stands a small table of addresses that were given or freed lately. What it says of an
 * address, be it that no block is there, is not in the pages; so those never see a block that goes soon, nor the next one
 * that the allocator gives at its address.
 */
#ifndef TRACE_RECORD_BLOCKS_H
#define TRACE_RECORD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "slabs.h"

#define BLOCKS_PAGE_BITS 11
#define BLOCKS_YOUNG_BITS 10
#define BLOCKS_ORDINAL_BITS 40

struct block {
	uint32_t kind;    /* below 2^24 */
	uint64_t ordinal; /* blocks of the kind before it; below 2^40 */
};

/* A page's blocks in no order: tags[i] says where in the page slot i is. */
struct block_page {
	uint16_t n, capacity;
	uint16_t slots; /* bytes from here to them */
	uint8_t class;  /* in the slabs */
	uint8_t unused;
	uint8_t tags[]; /* as many as there are slots, a multiple of thirty-two */
};

/* A block in one word; never 0, since the first kind is that of unknown blocks. */
static inline uint64_t block_pack(struct block block)
{
	return (uint64_t)block.kind << BLOCKS_ORDINAL_BITS | block.ordinal;
}

static inline struct block block_unpack(uint64_t slot)
{
	return (struct block){ (uint32_t)(slot >> BLOCKS_ORDINAL_BITS),
			       slot & ((1ull << BLOCKS_ORDINAL_BITS) - 1) };
}

/* Open addressing. A page whose blocks are gone stays until the table is made anew. */
struct blocks {
	struct block_place {
		uint64_t key; /* see blocks_key(); 0 = free place */
		struct block_page *page;
	} * places;
	uint64_t mask, used;
	struct slabs slabs; /* of pages */
	struct block_young {
		uint64_t address;
		uint64_t slot; /* 0: there is no block */
	} * young;             /* by blocks_young() */
	uint32_t credit;       /* blocks that may make others leave that table: those that went while in it */
	uint32_t passed;       /* blocks that didn't get into it */
};

int blocks_init(struct blocks *blocks); /* 0 or -1: no memory */
void blocks_finish(struct blocks *blocks);
int blocks_copy(struct blocks *to, const struct blocks *from);

/* What is known of an address, or of another one that has the same place. */
static inline struct block_young *blocks_young(const struct blocks *blocks, uint64_t address)
{
	const uint64_t i = (address >> 4) ^ (address >> (4 + BLOCKS_YOUNG_BITS));

	return &blocks->young[i & ((1u << BLOCKS_YOUNG_BITS) - 1)];
}

enum blocks_added { BLOCKS_NO_MEMORY = -1, BLOCKS_ADDED = 0, BLOCKS_LIVE = 1 };

/* The following, of an address that isn't in that table. Blocks are in one word; 0: none. */
enum blocks_added blocks_add_old(struct blocks *blocks, uint64_t address, uint64_t slot);
uint64_t blocks_find_old(const struct blocks *blocks, uint64_t address);
uint64_t blocks_take_old(struct blocks *blocks, uint64_t address);

static inline uint64_t blocks_take_slot(struct blocks *blocks, uint64_t address)
{
	struct block_young *const young = blocks_young(blocks, address);
	const uint64_t slot = young->slot;

	if (young->address != address)
		return blocks_take_old(blocks, address);
	young->slot = 0;
	blocks->credit++;
	return slot;
}

/* Adds a block, not the first one of kind 0; BLOCKS_LIVE: there is one at this address, and nothing was done. */
static inline enum blocks_added blocks_add(struct blocks *blocks, uint64_t address, struct block block)
{
	struct block_young *const young = blocks_young(blocks, address);

	if (young->address != address)
		return blocks_add_old(blocks, address, block_pack(block));
	if (young->slot)
		return BLOCKS_LIVE;
	young->slot = block_pack(block);
	return BLOCKS_ADDED;
}

/* False if there is none. */
static inline bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block)
{
	const struct block_young *const young = blocks_young(blocks, address);
	const uint64_t slot = young->address == address ? young->slot : blocks_find_old(blocks, address);

	*block = block_unpack(slot);
	return slot;
}

/* Takes the block out; false if there is none. */
static inline bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block)
{
	const uint64_t slot = blocks_take_slot(blocks, address);

	*block = block_unpack(slot);
	return slot;
}

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
 * These say, one after the other and with some work between, that an address will be looked for soon, which
 * isn't in the table of young blocks. What the first one gives the second one takes, later and whatever was done
 * between. Always in line: a function that only prefetches is one without effect to the compiler.
 */
static inline __attribute__((always_inline)) uint32_t blocks_expect(const struct blocks *blocks,
								    uint64_t address)
{
	const struct block_place *const place = blocks_home(blocks, blocks_key(address));

	__builtin_prefetch(place);
	return (uint32_t)(place - blocks->places);
}

static inline __attribute__((always_inline)) void blocks_expect_page(const struct blocks *blocks,
								     uint32_t place)
{
	const char *const page = (const char *)blocks->places[place].page;

	/* All of what a page usually is, wherever in it the block will be found. */
	if (page) {
		__builtin_prefetch(page, 1);
		__builtin_prefetch(page + 64, 1);
		__builtin_prefetch(page + 128, 1);
		__builtin_prefetch(page + 192, 1);
		__builtin_prefetch(page + 256, 1);
	}
}

#endif
