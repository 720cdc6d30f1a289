/* SPDX-License-Identifier: MIT */
#include "block_map.h"

#include <stdlib.h>
#include <string.h>

#include "huge_pages.h"

enum {
	AHEAD = 1024, /* pages that the directory may skip; indices are what the file says */
};

void block_map_init(struct block_map *h)
{
	*h = (struct block_map){ .vacant = BLOCK_MAP_NONE };
}

void block_map_finish(struct block_map *h)
{
	free(h->directory);
	huge_free(h->pages, h->capacity_pages * sizeof(*h->pages));
	index_map_finish(&h->rest);
	block_map_init(h);
}

/* ---- pages ---- */

/* BLOCK_MAP_NONE: no memory. */
static uint32_t page_make(struct block_map *h)
{
	uint32_t page = h->vacant;

	if (page == BLOCK_MAP_NONE && h->n_pages == h->capacity_pages) {
		const uint32_t capacity = 2 * h->capacity_pages + 16;
		struct block_map_page *pages =
			huge_grow(h->pages, h->capacity_pages * sizeof(*pages), capacity * sizeof(*pages));

		if (!pages)
			return BLOCK_MAP_NONE;
		h->pages = pages;
		h->capacity_pages = capacity;
	}
	if (page == BLOCK_MAP_NONE)
		page = h->n_pages++;
	else
		h->vacant = h->pages[page].live;
	memset(&h->pages[page], 0xff, sizeof(h->pages[page]));
	h->pages[page].live = 0;
	return page;
}

/* Moves what is left to the map; without memory for it, it stays. */
static void page_retire(struct block_map *h, uint64_t place)
{
	struct block_map_page *page = &h->pages[h->directory[place]];

	for (unsigned i = 0; page->live > 0 && i < BLOCK_MAP_PAGE; i++) {
		if (page->numbers[i] == BLOCK_MAP_NONE)
			continue;
		if (!index_map_put(&h->rest, place << BLOCK_MAP_PAGE_LOG2 | i, page->numbers[i]))
			return;
		page->numbers[i] = BLOCK_MAP_NONE;
		page->live--;
	}
	page->live = h->vacant;
	h->vacant = h->directory[place];
	h->directory[place] = BLOCK_MAP_NONE;
}

static struct block_map_page *page_at(const struct block_map *h, uint64_t place)
{
	if (place >= h->n || h->directory[place] == BLOCK_MAP_NONE)
		return NULL;
	return &h->pages[h->directory[place]];
}

/* ---- directory ---- */

static bool reserve(struct block_map *h, uint64_t n)
{
	const uint64_t capacity = n + n / 2 + 64;
	uint32_t *directory;

	if (n <= h->capacity)
		return true;
	directory = reallocarray(h->directory, capacity, sizeof(*directory));
	if (!directory)
		return false;
	h->directory = directory;
	h->capacity = capacity;
	return true;
}

/* Makes the page beyond the others; the last one before it is seldom added to from now on. */
static bool open_page(struct block_map *h, uint64_t place)
{
	const struct block_map_page *last = h->n ? page_at(h, h->n - 1) : NULL;

	if (!reserve(h, place + 1))
		return false;
	if (last && last->live < BLOCK_MAP_FEW)
		page_retire(h, h->n - 1);
	while (h->n < place)
		h->directory[h->n++] = BLOCK_MAP_NONE;
	h->directory[place] = page_make(h);
	if (h->directory[place] == BLOCK_MAP_NONE)
		return false;
	h->n = place + 1;
	return true;
}

/* ---- interface ---- */

static void lose(struct block_map *h, uint64_t place)
{
	if (page_at(h, place)->live < BLOCK_MAP_FEW && place + 1 < h->n)
		page_retire(h, place);
}

bool block_map_put(struct block_map *h, uint64_t block, uint32_t number)
{
	const uint64_t place = block >> BLOCK_MAP_PAGE_LOG2;
	struct block_map_page *page;
	uint32_t *slot;

	h->puts++;
	if (place >= h->n && place <= AHEAD + h->puts && !open_page(h, place))
		return false;
	page = page_at(h, place);
	if (!page)
		return index_map_put(&h->rest, block, number);
	slot = &page->numbers[block % BLOCK_MAP_PAGE];
	page->live += *slot == BLOCK_MAP_NONE;
	*slot = number;
	return true;
}

bool block_map_take(struct block_map *h, uint64_t block, uint32_t *number)
{
	const uint64_t place = block >> BLOCK_MAP_PAGE_LOG2;
	struct block_map_page *page = page_at(h, place);
	uint32_t *slot;
	uint64_t rest;

	if (!page || page->numbers[block % BLOCK_MAP_PAGE] == BLOCK_MAP_NONE) {
		if (!index_map_take(&h->rest, block, &rest))
			return false;
		*number = (uint32_t)rest;
		return true;
	}
	slot = &page->numbers[block % BLOCK_MAP_PAGE];
	*number = *slot;
	*slot = BLOCK_MAP_NONE;
	page->live--;
	lose(h, place);
	return true;
}
