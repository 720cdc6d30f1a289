/* SPDX-License-Identifier: MIT */
#include "block_map.h"

#include <stdlib.h>
#include <string.h>

#include "huge_pages.h"

enum {
	AHEAD = 1024, /* pages that the directory may skip; indices are what the file says */
};

void handles_init(struct handles *h)
{
	*h = (struct handles){ .vacant = HANDLES_NONE };
}

void handles_finish(struct handles *h)
{
	free(h->directory);
	huge_free(h->pages, h->capacity_pages * sizeof(*h->pages));
	indexmap_finish(&h->rest);
	handles_init(h);
}

/* ---- pages ---- */

/* HANDLES_NONE: no memory. */
static uint32_t page_make(struct handles *h)
{
	uint32_t page = h->vacant;

	if (page == HANDLES_NONE && h->n_pages == h->capacity_pages) {
		const uint32_t capacity = 2 * h->capacity_pages + 16;
		struct handles_page *pages =
			huge_grow(h->pages, h->capacity_pages * sizeof(*pages), capacity * sizeof(*pages));

		if (!pages)
			return HANDLES_NONE;
		h->pages = pages;
		h->capacity_pages = capacity;
	}
	if (page == HANDLES_NONE)
		page = h->n_pages++;
	else
		h->vacant = h->pages[page].live;
	memset(&h->pages[page], 0xff, sizeof(h->pages[page]));
	h->pages[page].live = 0;
	return page;
}

/* Moves what is left to the map; without memory for it, it stays. */
static void page_retire(struct handles *h, uint64_t place)
{
	struct handles_page *page = &h->pages[h->directory[place]];

	for (unsigned i = 0; page->live > 0 && i < HANDLES_PAGE; i++) {
		if (page->numbers[i] == HANDLES_NONE)
			continue;
		if (!indexmap_put(&h->rest, place << HANDLES_PAGE_LOG2 | i, page->numbers[i]))
			return;
		page->numbers[i] = HANDLES_NONE;
		page->live--;
	}
	page->live = h->vacant;
	h->vacant = h->directory[place];
	h->directory[place] = HANDLES_NONE;
}

static struct handles_page *page_at(const struct handles *h, uint64_t place)
{
	if (place >= h->n || h->directory[place] == HANDLES_NONE)
		return NULL;
	return &h->pages[h->directory[place]];
}

/* ---- directory ---- */

static bool reserve(struct handles *h, uint64_t n)
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
static bool open_page(struct handles *h, uint64_t place)
{
	const struct handles_page *last = h->n ? page_at(h, h->n - 1) : NULL;

	if (!reserve(h, place + 1))
		return false;
	if (last && last->live < HANDLES_FEW)
		page_retire(h, h->n - 1);
	while (h->n < place)
		h->directory[h->n++] = HANDLES_NONE;
	h->directory[place] = page_make(h);
	if (h->directory[place] == HANDLES_NONE)
		return false;
	h->n = place + 1;
	return true;
}

/* ---- interface ---- */

void handles_lose(struct handles *h, uint64_t place)
{
	if (page_at(h, place)->live < HANDLES_FEW && place + 1 < h->n)
		page_retire(h, place);
}

bool handles_put(struct handles *h, uint64_t block, uint32_t number)
{
	const uint64_t place = block >> HANDLES_PAGE_LOG2;
	struct handles_page *page;
	uint32_t *slot;

	h->puts++;
	if (place >= h->n && place <= AHEAD + h->puts && !open_page(h, place))
		return false;
	page = page_at(h, place);
	if (!page)
		return indexmap_put(&h->rest, block, number);
	slot = &page->numbers[block % HANDLES_PAGE];
	page->live += *slot == HANDLES_NONE;
	*slot = number;
	return true;
}

bool handles_take(struct handles *h, uint64_t block, uint32_t *number)
{
	const uint64_t place = block >> HANDLES_PAGE_LOG2;
	struct handles_page *page = page_at(h, place);
	uint32_t *slot;
	uint64_t rest;

	if (!page || page->numbers[block % HANDLES_PAGE] == HANDLES_NONE) {
		if (!indexmap_take(&h->rest, block, &rest))
			return false;
		*number = (uint32_t)rest;
		return true;
	}
	slot = &page->numbers[block % HANDLES_PAGE];
	*number = *slot;
	*slot = HANDLES_NONE;
	page->live--;
	handles_lose(h, place);
	return true;
}
