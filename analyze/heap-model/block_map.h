/* SPDX-License-Identifier: MIT */
/*
 * The block map: a number for each live block, by the index of the block's allocation. Blocks come in the order of
 * their indices, and most that came together go together: so numbers lie in pages of neighbouring indices, and only
 * what remains of a page whose other blocks are gone moves to an index_map.
 *
 * Memory: 4 bytes an index of a page in use, and 8 bytes for 1024 indices that ever were. Single-threaded.
 */
#ifndef ANALYZE_BLOCK_MAP_H
#define ANALYZE_BLOCK_MAP_H

#include "index_map.h"

#define BLOCK_MAP_NONE UINT32_MAX /* no number, no page */

enum {
	BLOCK_MAP_PAGE_LOG2 = 9,
	BLOCK_MAP_PAGE = 1 << BLOCK_MAP_PAGE_LOG2, /* indices of a page */
	BLOCK_MAP_FEW = BLOCK_MAP_PAGE / 32,       /* with fewer live blocks a page is retired */
};

struct block_map_page {
	uint32_t live; /* blocks; of a vacant page, the next vacant one's number + 1 */
	uint32_t numbers[BLOCK_MAP_PAGE];
};

/* Zero-initialised is empty. A block is in its page, if the directory has that, or in `rest`; never in both. */
struct block_map {
	uint32_t *directory; /* [n] by index >> BLOCK_MAP_PAGE_LOG2: a page's number */
	size_t n, capacity;
	struct block_map_page *pages; /* [n_pages] */
	uint32_t n_pages, capacity_pages;
	uint32_t vacant; /* number + 1 of a page that no directory entry has; 0: none */
	uint64_t puts;
	struct index_map rest;
};

void block_map_finish(struct block_map *map);

/* Gives a block its number, below BLOCK_MAP_NONE. UINT64_MAX is no block. False: no memory. */
bool block_map_put(struct block_map *map, uint64_t block, uint32_t number);

/* False: it is not there, and *number is unchanged. */
bool block_map_find(const struct block_map *map, uint64_t block, uint32_t *number);

/* Takes a block out; false: it is not there. */
bool block_map_take(struct block_map *map, uint64_t block, uint32_t *number);

/* Verifies all invariants by assert(), in O(n). */
void block_map_check(const struct block_map *map);

#endif
