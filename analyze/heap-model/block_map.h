/* SPDX-License-Identifier: MIT */
/*
 * A number for each live block, as indexmap.h has it, for traces in which all blocks have one: they
 * come in the order of their indices, and most of those that came together go together. So numbers
 * lie in pages, and only what is left when most of a page is gone goes into a map.
 *
 * Memory: as the live blocks need, and 8 bytes for 1024 blocks that ever were. Single-threaded.
 */
#ifndef ANALYZE_BLOCK_MAP_H
#define ANALYZE_BLOCK_MAP_H

#include "index_map.h"

#define BLOCK_MAP_NONE UINT32_MAX /* no number, and no page */

enum {
	BLOCK_MAP_PAGE_LOG2 = 9,
	BLOCK_MAP_PAGE = 1 << BLOCK_MAP_PAGE_LOG2,
	BLOCK_MAP_FEW =
		BLOCK_MAP_PAGE / 32, /* a page with fewer live blocks than these isn't worth its memory */
};

struct block_map {
	uint32_t *directory; /* [n]: the page of each so many blocks */
	uint64_t n, capacity;
	struct block_map_page *pages;
	uint32_t n_pages, capacity_pages;
	uint32_t vacant; /* chain of unused pages */
	uint64_t puts;
	struct index_map rest;
};

struct block_map_page {
	uint32_t live; /* of an unused one: the next of the chain */
	uint32_t numbers[BLOCK_MAP_PAGE];
};

void block_map_init(struct block_map *handles);
void block_map_finish(struct block_map *handles);

/* Adds a block, UINT64_MAX is no block; numbers are below BLOCK_MAP_NONE. False: no memory. */
bool block_map_put(struct block_map *handles, uint64_t block, uint32_t number);

/* Takes a block out; false if it isn't there. */
bool block_map_take(struct block_map *handles, uint64_t block, uint32_t *number);

#endif
