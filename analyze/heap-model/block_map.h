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

#define HANDLES_NONE UINT32_MAX /* no number, and no page */

enum {
	HANDLES_PAGE_LOG2 = 9,
	HANDLES_PAGE = 1 << HANDLES_PAGE_LOG2,
	HANDLES_FEW = HANDLES_PAGE / 32, /* a page with fewer live blocks than these isn't worth its memory */
};

struct handles {
	uint32_t *directory; /* [n]: the page of each so many blocks */
	uint64_t n, capacity;
	struct handles_page *pages;
	uint32_t n_pages, capacity_pages;
	uint32_t vacant; /* chain of unused pages */
	uint64_t puts;
	struct indexmap rest;
};

struct handles_page {
	uint32_t live; /* of an unused one: the next of the chain */
	uint32_t numbers[HANDLES_PAGE];
};

void handles_init(struct handles *handles);
void handles_finish(struct handles *handles);

/* Adds a block, UINT64_MAX is no block; numbers are below HANDLES_NONE. False: no memory. */
bool handles_put(struct handles *handles, uint64_t block, uint32_t number);

/* Takes a block out; false if it isn't there. */
bool handles_take(struct handles *handles, uint64_t block, uint32_t *number);

/* A hint: the block will be looked for. */
static inline void handles_foresee(const struct handles *handles, uint64_t block)
{
	const uint64_t place = block >> HANDLES_PAGE_LOG2;

	if (place >= handles->n)
		return;
	if (handles->directory[place] == HANDLES_NONE) {
		indexmap_foresee(&handles->rest, block);
		return;
	}
	__builtin_prefetch(&handles->pages[handles->directory[place]].live);
	__builtin_prefetch(&handles->pages[handles->directory[place]].numbers[block % HANDLES_PAGE]);
}

/* Private: a page has lost a block. */
void handles_lose(struct handles *handles, uint64_t place);

/*
 * The number of a block that may not have come yet, which is taken out then: HANDLES_NONE if so, or if it has to
 * be looked for more closely, by handles_take(). Without branches on what can't be predicted.
 */
static inline uint32_t handles_take_early(struct handles *handles, uint64_t block)
{
	const uint64_t place = block >> HANDLES_PAGE_LOG2;
	struct handles_page *page;
	uint32_t *slot, number;
	uint64_t rest = HANDLES_NONE;

	if (place >= handles->n)
		return HANDLES_NONE;
	if (handles->directory[place] == HANDLES_NONE) {
		indexmap_take(&handles->rest, block, &rest);
		return (uint32_t)rest;
	}
	page = &handles->pages[handles->directory[place]];
	slot = &page->numbers[block % HANDLES_PAGE];
	number = *slot;
	*slot = HANDLES_NONE;
	page->live -= number != HANDLES_NONE;
	if (__builtin_expect(page->live < HANDLES_FEW && place + 1 < handles->n, 0))
		handles_lose(handles, place);
	return number;
}

#endif
