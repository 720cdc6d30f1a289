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

/* A hint: the block will be looked for. */
static inline void block_map_foresee(const struct block_map *handles, uint64_t block)
{
	const uint64_t place = block >> BLOCK_MAP_PAGE_LOG2;

	if (place >= handles->n)
		return;
	if (handles->directory[place] == BLOCK_MAP_NONE) {
		index_map_foresee(&handles->rest, block);
		return;
	}
	__builtin_prefetch(&handles->pages[handles->directory[place]].live);
	__builtin_prefetch(&handles->pages[handles->directory[place]].numbers[block % BLOCK_MAP_PAGE]);
}

/* Private: a page has lost a block. */
void block_map_lose(struct block_map *handles, uint64_t place);

/*
 * The number of a block that may not have come yet, which is taken out then: BLOCK_MAP_NONE if so, or if it has to
 * be looked for more closely, by block_map_take(). Without branches on what can't be predicted.
 */
static inline uint32_t block_map_take_early(struct block_map *handles, uint64_t block)
{
	const uint64_t place = block >> BLOCK_MAP_PAGE_LOG2;
	struct block_map_page *page;
	uint32_t *slot, number;
	uint64_t rest = BLOCK_MAP_NONE;

	if (place >= handles->n)
		return BLOCK_MAP_NONE;
	if (handles->directory[place] == BLOCK_MAP_NONE) {
		index_map_take(&handles->rest, block, &rest);
		return (uint32_t)rest;
	}
	page = &handles->pages[handles->directory[place]];
	slot = &page->numbers[block % BLOCK_MAP_PAGE];
	number = *slot;
	*slot = BLOCK_MAP_NONE;
	page->live -= number != BLOCK_MAP_NONE;
	if (__builtin_expect(page->live < BLOCK_MAP_FEW && place + 1 < handles->n, 0))
		block_map_lose(handles, place);
	return number;
}

#endif
