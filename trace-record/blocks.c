/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 1024u
#define FIRST_CAPACITY 2u
#define NEXT_CAPACITY 16u
#define TAGS 16u /* compared at a time */
#define INDEX_BITS 40
#define NONE UINT32_MAX

_Static_assert(1u << (BLOCKS_PAGE_BITS - 3) == 256, "a tag is a byte");

static uint8_t tag_of(uint64_t address)
{
	return (uint8_t)(address >> 3);
}

static uint64_t pack(struct block block)
{
	return (uint64_t)block.kind << INDEX_BITS | block.index;
}

static struct block unpack(uint64_t slot)
{
	return (struct block){ (uint32_t)(slot >> INDEX_BITS), slot & ((1ull << INDEX_BITS) - 1) };
}

/* ---- a page ---- */

static size_t tag_bytes(uint32_t capacity)
{
	return capacity < TAGS ? TAGS : capacity;
}

static size_t page_bytes(uint32_t capacity)
{
	return sizeof(struct block_page) + tag_bytes(capacity) + capacity * sizeof(uint64_t);
}

static uint64_t *page_slots(struct block_page *page)
{
	return (uint64_t *)(page->tags + tag_bytes(page->capacity));
}

/* A page with more room and what `page` has; NULL: no memory. */
static struct block_page *page_grow(struct block_page *page)
{
	const uint32_t capacity = !page                            ? FIRST_CAPACITY
				  : page->capacity < NEXT_CAPACITY ? NEXT_CAPACITY
								   : page->capacity * 2u;
	struct block_page *grown = malloc(page_bytes(capacity));

	if (!grown)
		return NULL;
	/* Tags beyond n are compared, too, and then found to be beyond. */
	memset(grown, 0, sizeof(*grown) + tag_bytes(capacity));
	grown->capacity = (uint16_t)capacity;
	if (page) {
		grown->n = page->n;
		memcpy(grown->tags, page->tags, page->n);
		memcpy(page_slots(grown), page_slots(page), page->n * sizeof(uint64_t));
		free(page);
	}
	return grown;
}

/* Where in the page a tag is, or NONE. What was added last is found first. */
static uint32_t page_search(const struct block_page *page, uint8_t tag)
{
	const __m128i wanted = _mm_set1_epi8((char)tag);

	for (uint32_t i = (page->n + TAGS - 1) / TAGS; i-- > 0;) {
		const __m128i tags = _mm_load_si128((const __m128i *)&page->tags[i * TAGS]);
		uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, wanted));

		if (page->n < (i + 1) * TAGS)
			equal &= (1u << (page->n - i * TAGS)) - 1;
		if (equal)
			return i * TAGS + (uint32_t)__builtin_ctz(equal);
	}
	return NONE;
}

static struct block_page *page_copy(const struct block_page *page)
{
	struct block_page *copy = malloc(page_bytes(page->capacity));

	if (copy)
		memcpy(copy, page, page_bytes(page->capacity));
	return copy;
}

/* ---- the table ---- */

int blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){ .mask = FIRST_PLACES - 1 };
	blocks->recent = blocks->places = calloc(FIRST_PLACES, sizeof(*blocks->places));
	return blocks->places ? 0 : -1;
}

void blocks_finish(struct blocks *blocks)
{
	for (uint64_t i = 0; blocks->places && i <= blocks->mask; i++)
		free(blocks->places[i].page);
	free(blocks->places);
	*blocks = (struct blocks){ 0 };
}

/* The place of a key, or the free one where the search ends. */
static inline struct block_place *search(struct blocks *blocks, uint64_t key)
{
	uint64_t i;

	if (blocks->recent->key == key)
		return blocks->recent;
	i = blocks_home(blocks, key);
	while (blocks->places[i].key && blocks->places[i].key != key)
		i = (i + 1) & blocks->mask;
	return blocks->recent = &blocks->places[i];
}

int blocks_copy(struct blocks *to, const struct blocks *from)
{
	*to = (struct blocks){ .mask = from->mask };
	to->recent = to->places = calloc(from->mask + 1, sizeof(*to->places));
	if (!to->places)
		return -1;
	for (uint64_t i = 0; i <= from->mask; i++) {
		struct block_page *page = from->places[i].page, *copy;

		if (!page || page->n == 0)
			continue;
		copy = page_copy(page);
		if (!copy) {
			blocks_finish(to);
			return -1;
		}
		*search(to, from->places[i].key) = (struct block_place){ from->places[i].key, copy };
		to->used++;
	}
	return 0;
}

/* Makes the table anew, without empty pages, and with room. */
static int renew(struct blocks *blocks)
{
	struct blocks fresh = { .mask = blocks->mask };
	uint64_t live = 0;

	for (uint64_t i = 0; i <= blocks->mask; i++)
		live += blocks->places[i].page && blocks->places[i].page->n > 0;
	if (live > blocks->mask / 4)
		fresh.mask = blocks->mask * 2 + 1;
	fresh.recent = fresh.places = calloc(fresh.mask + 1, sizeof(*fresh.places));
	if (!fresh.places)
		return -1;
	fresh.used = live;
	for (uint64_t i = 0; i <= blocks->mask; i++) {
		const struct block_place *place = &blocks->places[i];

		if (place->page && place->page->n > 0)
			*search(&fresh, place->key) = *place;
		else
			free(place->page);
	}
	free(blocks->places);
	*blocks = fresh;
	return 0;
}

int blocks_add(struct blocks *blocks, uint64_t address, struct block block)
{
	const uint64_t key = blocks_key(address);
	struct block_place *place = search(blocks, key);
	struct block_page *page = place->page;

	if (!place->key && blocks->used >= blocks->mask / 2) {
		if (renew(blocks) != 0)
			return -1;
		place = search(blocks, key);
	}
	if (!page || page->n == page->capacity) {
		page = page_grow(page);
		if (!page)
			return -1;
		blocks->used += !place->key;
		*place = (struct block_place){ key, page };
	}
	page->tags[page->n] = tag_of(address);
	page_slots(page)[page->n++] = pack(block);
	return 0;
}

void blocks_expect_slot(const struct blocks *blocks, uint64_t address)
{
	const uint64_t key = blocks_key(address);
	const struct block_place *place = &blocks->places[blocks_home(blocks, key)];
	uint32_t i;

	if (place->key != key)
		return;
	i = page_search(place->page, tag_of(address));
	__builtin_prefetch(&page_slots(place->page)[i != NONE ? i : place->page->n], 1);
}

bool blocks_find(struct blocks *blocks, uint64_t address, struct block *block)
{
	struct block_page *page = search(blocks, blocks_key(address))->page;
	const uint32_t i = page ? page_search(page, tag_of(address)) : NONE;

	if (i == NONE)
		return false;
	*block = unpack(page_slots(page)[i]);
	return true;
}

bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block)
{
	struct block_page *page = search(blocks, blocks_key(address))->page;
	const uint32_t i = page ? page_search(page, tag_of(address)) : NONE;

	if (i == NONE)
		return false;
	*block = unpack(page_slots(page)[i]);
	/* The last one fills the hole. */
	page->n--;
	page->tags[i] = page->tags[page->n];
	page_slots(page)[i] = page_slots(page)[page->n];
	return true;
}
