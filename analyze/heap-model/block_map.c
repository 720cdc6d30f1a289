/* SPDX-License-Identifier: MIT */
#include "block_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "check.h"
#include "huge_pages.h"

/*
 * Indices are a file's claims: the directory may be so many pages longer than the number of blocks that were put
 * requires.
 */
#define AHEAD 1024u

void block_map_finish(struct block_map *map)
{
	free(map->directory);
	huge_free(map->pages, map->capacity_pages * sizeof(*map->pages));
	index_map_finish(&map->rest);
	*map = (struct block_map){ .n = 0 };
}

/* ---- pages ---- */

static bool pages_reserve(struct block_map *map)
{
	const uint32_t capacity = 2 * map->capacity_pages + 16;
	struct block_map_page *pages;

	if (map->vacant || map->n_pages < map->capacity_pages)
		return true;
	pages = huge_grow(map->pages, map->capacity_pages * sizeof(*pages), capacity * sizeof(*pages));
	if (!pages)
		return false;
	map->pages = pages;
	map->capacity_pages = capacity;
	return true;
}

/* An empty page; BLOCK_MAP_NONE: no memory. */
static uint32_t page_make(struct block_map *map)
{
	uint32_t page;

	if (!pages_reserve(map))
		return BLOCK_MAP_NONE;
	if (map->vacant) {
		page = map->vacant - 1;
		map->vacant = map->pages[page].live;
	} else {
		page = map->n_pages++;
	}
	memset(map->pages[page].numbers, 0xff, sizeof(map->pages[page].numbers));
	map->pages[page].live = 0;
	return page;
}

/* Moves what is left to the index map, as far as there is memory for it; an emptied page becomes vacant. */
static void page_retire(struct block_map *map, uint64_t place)
{
	const uint32_t number = map->directory[place];
	struct block_map_page *page = &map->pages[number];

	for (unsigned i = 0; page->live > 0; i++) {
		assert(i < BLOCK_MAP_PAGE);
		if (page->numbers[i] == BLOCK_MAP_NONE)
			continue;
		if (!index_map_put(&map->rest, place << BLOCK_MAP_PAGE_LOG2 | i, page->numbers[i]))
			return;
		page->numbers[i] = BLOCK_MAP_NONE;
		page->live--;
	}
	page->live = map->vacant;
	map->vacant = number + 1;
	map->directory[place] = BLOCK_MAP_NONE;
}

/* NULL: the directory has none. */
static struct block_map_page *page_at(const struct block_map *map, uint64_t place)
{
	if (place >= map->n || map->directory[place] == BLOCK_MAP_NONE)
		return NULL;
	assert(map->directory[place] < map->n_pages);
	return &map->pages[map->directory[place]];
}

/* Makes the page after all others. The last one before it gets few blocks from now on. */
static bool open_page(struct block_map *map, uint64_t place)
{
	const struct block_map_page *last = map->n ? page_at(map, map->n - 1) : NULL;

	assert(place >= map->n);
	if ((place & (place - 1)) == 0 && check_wanted()) /* now and then */
		block_map_check(map);
	if (!array_reserve(&map->directory, place, &map->capacity, sizeof(*map->directory)))
		return false;
	if (last && last->live < BLOCK_MAP_FEW)
		page_retire(map, map->n - 1);
	while (map->n < place)
		map->directory[map->n++] = BLOCK_MAP_NONE;
	map->directory[place] = page_make(map);
	if (map->directory[place] == BLOCK_MAP_NONE)
		return false;
	map->n = place + 1;
	return true;
}

/* ---- interface ---- */

bool block_map_put(struct block_map *map, uint64_t block, uint32_t number)
{
	const uint64_t place = block >> BLOCK_MAP_PAGE_LOG2;
	struct block_map_page *page;
	uint32_t *entry;

	assert(number != BLOCK_MAP_NONE);
	map->puts++;
	if (place >= map->n && place <= AHEAD + map->puts && !open_page(map, place))
		return false;
	page = page_at(map, place);
	if (!page)
		return index_map_put(&map->rest, block, number);
	entry = &page->numbers[block % BLOCK_MAP_PAGE];
	page->live += *entry == BLOCK_MAP_NONE;
	*entry = number;
	return true;
}

bool block_map_find(const struct block_map *map, uint64_t block, uint32_t *number)
{
	const struct block_map_page *page = page_at(map, block >> BLOCK_MAP_PAGE_LOG2);
	const uint32_t found = page ? page->numbers[block % BLOCK_MAP_PAGE] : BLOCK_MAP_NONE;
	uint64_t rest = found;

	if (found == BLOCK_MAP_NONE && !index_map_find(&map->rest, block, &rest))
		return false;
	*number = (uint32_t)rest;
	return true;
}

bool block_map_take(struct block_map *map, uint64_t block, uint32_t *number)
{
	const uint64_t place = block >> BLOCK_MAP_PAGE_LOG2;
	struct block_map_page *page = page_at(map, place);
	uint32_t *entry = page ? &page->numbers[block % BLOCK_MAP_PAGE] : NULL;
	uint64_t rest;

	if (!entry || *entry == BLOCK_MAP_NONE) {
		if (!index_map_take(&map->rest, block, &rest))
			return false;
		*number = (uint32_t)rest;
		return true;
	}
	*number = *entry;
	*entry = BLOCK_MAP_NONE;
	assert(page->live > 0);
	page->live--;
	if (page->live < BLOCK_MAP_FEW && place + 1 < map->n)
		page_retire(map, place);
	return true;
}

/* ---- invariants ---- */

static void check_page(const struct block_map *map, uint64_t place)
{
	const struct block_map_page *page = page_at(map, place);
	uint32_t live = 0;
	uint64_t rest;

	for (unsigned i = 0; page && i < BLOCK_MAP_PAGE; i++) {
		const bool is_live = page->numbers[i] != BLOCK_MAP_NONE;

		live += is_live;
		assert(!is_live || !index_map_find(&map->rest, place << BLOCK_MAP_PAGE_LOG2 | i, &rest));
	}
	assert(!page || page->live == live);
	(void)rest;
}

void block_map_check(const struct block_map *map)
{
	uint32_t used = 0;

	for (uint64_t place = 0; place < map->n; place++) {
		check_page(map, place);
		used += page_at(map, place) != NULL;
	}
	for (uint32_t page = map->vacant; page; page = map->pages[page - 1].live) {
		assert(page <= map->n_pages);
		used++;
	}
	assert(used == map->n_pages && map->n_pages <= map->capacity_pages);
}
