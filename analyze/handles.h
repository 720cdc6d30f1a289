/* SPDX-License-Identifier: MIT */
/*
 * A number for each live block, as indexmap.h has it, for traces in which all blocks have one: they
 * come in the order of their indices, and most of those that came together go together. So numbers
 * lie in pages, and only what is left when most of a page is gone goes into a map.
 *
 * Memory: as the live blocks need, and 8 bytes for 1024 blocks that ever were. Single-threaded.
 */
#ifndef ANALYZE_HANDLES_H
#define ANALYZE_HANDLES_H

#include "indexmap.h"

#define HANDLES_NONE UINT32_MAX /* no number, and no page */

enum { HANDLES_PAGE_LOG2 = 9, HANDLES_PAGE = 1 << HANDLES_PAGE_LOG2 };

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

bool handles_find(const struct handles *handles, uint64_t block, uint32_t *number);

/* Takes a block out; false if it isn't there. */
bool handles_take(struct handles *handles, uint64_t block, uint32_t *number);

#endif
