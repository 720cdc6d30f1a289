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

#define BLOCKS_PAGE_BITS 11

struct block {
	uint32_t kind;  /* below 2^24 */
	uint64_t index; /* of its allocation; below 2^40 */
};

/* A page's blocks in no order: tags[i] says where in the page slots[i] is. */
struct block_page {
	uint16_t n, capacity;
	_Alignas(16) uint8_t tags[]; /* as many as there are slots, sixteen at least; the slots follow */
};

/* Open addressing. A page whose blocks are gone stays until the table is made anew. */
struct blocks {
	struct block_place {
		uint64_t key; /* see blocks_key(); 0 = free place */
		struct block_page *page;
	} * places;
	uint64_t mask, used;
	struct block_place *recent; /* where the last search ended: one event asks more than once */
};

int blocks_init(struct blocks *blocks); /* 0 or -1: no memory */
void blocks_finish(struct blocks *blocks);
int blocks_copy(struct blocks *to, const struct blocks *from);

/* Adds a block at an address that isn't there yet. 0 or -1: no memory. */
int blocks_add(struct blocks *blocks, uint64_t address, struct block block);
bool blocks_find(struct blocks *blocks, uint64_t address, struct block *block);
/* Takes the block out; false if there is none. */
bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block);

/* The page that an address is in; what is not a multiple of eight is in pages of its own. Never 0. */
static inline uint64_t blocks_key(uint64_t address)
{
	return (address >> BLOCKS_PAGE_BITS << 3 | (address & 7)) + 1;
}

static inline uint64_t blocks_home(const struct blocks *blocks, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> 20 & blocks->mask;
}

/* These say, one after the other and with some work between, that an address will be looked for soon. */
static inline void blocks_expect(const struct blocks *blocks, uint64_t address)
{
	__builtin_prefetch(&blocks->places[blocks_home(blocks, blocks_key(address))]);
}

static inline void blocks_expect_page(const struct blocks *blocks, uint64_t address)
{
	const uint64_t key = blocks_key(address);
	const struct block_place *place = &blocks->places[blocks_home(blocks, key)];

	if (place->key == key)
		__builtin_prefetch(place->page, 1);
}

void blocks_expect_slot(const struct blocks *blocks, uint64_t address);

#endif
