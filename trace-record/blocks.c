/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 1024u
#define TAGS 32u /* compared at a time */
#define CREDIT_MOST (1u << BLOCKS_YOUNG_BITS)
#define PASSING 16u /* of those that are to pass, one gets in: programs change */
#define NONE UINT32_MAX

_Static_assert(1u << (BLOCKS_PAGE_BITS - 3) <= 256, "a tag is a byte");

/* Slots of a page, by class: the first two fill a cache line, and three. */
static const uint16_t capacities[] = { 3, 19, 32, 64, 128, 256 };

_Static_assert(sizeof(capacities) / sizeof(*capacities) <= SLAB_CLASSES, "each has its class");

static uint8_t tag_of(uint64_t address)
{
	return (uint8_t)(address >> 3);
}

/* ---- a page ---- */

static size_t slots_at(uint32_t capacity)
{
	return sizeof(struct block_page) + (capacity + TAGS - 1) / TAGS * TAGS;
}

static size_t page_bytes(uint32_t capacity)
{
	return slots_at(capacity) + capacity * sizeof(uint64_t);
}

static uint64_t *page_slots(struct block_page *page)
{
	return (uint64_t *)((char *)page + page->slots);
}

/* An empty page; NULL: no memory. */
static struct block_page *page_create(struct slabs *slabs, uint8_t class)
{
	const uint32_t capacity = capacities[class];
	struct block_page *page = slabs_take(slabs, class, page_bytes(capacity));

	if (!page)
		return NULL;
	/* Tags beyond n are compared, too, and then found to be beyond. */
	memset(page, 0, slots_at(capacity));
	page->class = class;
	page->capacity = (uint16_t)capacity;
	page->slots = (uint16_t)slots_at(capacity);
	return page;
}

static void page_fill(struct block_page *page, struct block_page *from)
{
	page->n = from->n;
	memcpy(page->tags, from->tags, from->n);
	memcpy(page_slots(page), page_slots(from), from->n * sizeof(uint64_t));
}

/* A page with more room and what `page` has, if there is one; NULL: no memory. */
static struct block_page *page_grow(struct slabs *slabs, struct block_page *page)
{
	struct block_page *grown = page_create(slabs, page ? page->class + 1 : 0);

	if (!grown || !page)
		return grown;
	page_fill(grown, page);
	slabs_give(slabs, page->class, page);
	return grown;
}

static inline uint32_t equal_tags(const uint8_t *tags, __m128i wanted)
{
	const __m128i *at = (const __m128i *)tags;
	const int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(at), wanted));
	const int high = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(at + 1), wanted));

	return (uint32_t)low | (uint32_t)high << 16;
}

/* Where in the page a tag is, or NONE. */
static inline uint32_t page_search(const struct block_page *page, uint8_t tag)
{
	const __m128i wanted = _mm_set1_epi8((char)tag);
	uint32_t first = 0, left = page->n;

	for (; __builtin_expect(left > TAGS, 0); first += TAGS, left -= TAGS) {
		const uint32_t equal = equal_tags(page->tags + first, wanted);

		if (equal)
			return first + (uint32_t)__builtin_ctz(equal);
	}
	/* The first `left` of these count. */
	const uint64_t equal = equal_tags(page->tags + first, wanted) & (((uint64_t)1 << left) - 1);

	return equal ? first + (uint32_t)__builtin_ctz((uint32_t)equal) : NONE;
}

/* ---- the table ---- */

int blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){ .mask = FIRST_PLACES - 1 };
	blocks->places = calloc(FIRST_PLACES, sizeof(*blocks->places));
	blocks->young = calloc(1u << BLOCKS_YOUNG_BITS, sizeof(*blocks->young));
	return blocks->places && blocks->young ? 0 : -1;
}

void blocks_finish(struct blocks *blocks)
{
	slabs_finish(&blocks->slabs);
	free(blocks->places);
	free(blocks->young);
	*blocks = (struct blocks){ 0 };
}

/* The place of a key, or the free one where the search ends. */
static inline struct block_place *search(const struct blocks *blocks, uint64_t key)
{
	struct block_place *place = blocks_home(blocks, key);

	while (place->key != key && place->key) {
		if (++place > &blocks->places[blocks->mask])
			place = blocks->places;
	}
	return place;
}

int blocks_copy(struct blocks *to, const struct blocks *from)
{
	*to = (struct blocks){ .mask = from->mask, .credit = from->credit };
	to->places = calloc(from->mask + 1, sizeof(*to->places));
	to->young = malloc(sizeof(*to->young) << BLOCKS_YOUNG_BITS);
	if (!to->places || !to->young) {
		blocks_finish(to);
		return -1;
	}
	memcpy(to->young, from->young, sizeof(*to->young) << BLOCKS_YOUNG_BITS);
	for (uint64_t i = 0; i <= from->mask; i++) {
		struct block_page *page = from->places[i].page, *copy;

		if (!page || page->n == 0)
			continue;
		copy = page_create(&to->slabs, page->class);
		if (!copy) {
			blocks_finish(to);
			return -1;
		}
		page_fill(copy, page);
		*search(to, from->places[i].key) = (struct block_place){ from->places[i].key, copy };
		to->used++;
	}
	return 0;
}

/* Makes the table anew, without empty pages, and with room. */
static int renew(struct blocks *blocks)
{
	struct blocks fresh = *blocks;
	uint64_t live = 0;

	for (uint64_t i = 0; i <= blocks->mask; i++)
		live += blocks->places[i].page && blocks->places[i].page->n > 0;
	if (live > blocks->mask / 4)
		fresh.mask = blocks->mask * 2 + 1;
	fresh.places = calloc(fresh.mask + 1, sizeof(*fresh.places));
	if (!fresh.places)
		return -1;
	fresh.used = live;
	for (uint64_t i = 0; i <= blocks->mask; i++) {
		const struct block_place *place = &blocks->places[i];

		if (place->page && place->page->n > 0)
			*search(&fresh, place->key) = *place;
		else if (place->page)
			slabs_give(&fresh.slabs, place->page->class, place->page);
	}
	free(blocks->places);
	*blocks = fresh;
	return 0;
}

/* Gives the key a place, or its page more room. Where that is; NULL: no memory. */
static __attribute__((noinline)) struct block_place *make_room(struct blocks *blocks, uint64_t key)
{
	struct block_place *place = search(blocks, key);
	struct block_page *page;

	if (!place->key && blocks->used >= blocks->mask / 2) {
		if (renew(blocks) != 0)
			return NULL;
		place = search(blocks, key);
	}
	page = page_grow(&blocks->slabs, place->page);
	if (!page)
		return NULL;
	blocks->used += !place->key;
	*place = (struct block_place){ key, page };
	return place;
}

/* Into the page that is, or shall be, at `place`. */
static enum blocks_added add_to_page(struct blocks *blocks, struct block_place *place, uint64_t address,
				     uint64_t slot)
{
	struct block_page *page = place->page;

	if (__builtin_expect(!page || page->n == page->capacity, 0)) {
		place = make_room(blocks, blocks_key(address));
		if (!place)
			return BLOCKS_NO_MEMORY;
		page = place->page;
	}
	page->tags[page->n] = tag_of(address);
	page_slots(page)[page->n++] = slot;
	return BLOCKS_ADDED;
}

/* Whether the block in another's place is to leave it: of those that came so far, enough have gone soon. */
static inline bool may_displace(struct blocks *blocks)
{
	if (!blocks->credit)
		return ++blocks->passed % PASSING == 0;
	blocks->credit = (blocks->credit < CREDIT_MOST ? blocks->credit : CREDIT_MOST) - 1;
	return true;
}

enum blocks_added blocks_add_old(struct blocks *blocks, uint64_t address, uint64_t slot)
{
	struct block_young *const young = blocks_young(blocks, address);
	struct block_place *const place = search(blocks, blocks_key(address));

	if (place->page && page_search(place->page, tag_of(address)) != NONE)
		return BLOCKS_LIVE;
	if (young->slot && !may_displace(blocks))
		return add_to_page(blocks, place, address, slot);
	if (young->slot && add_to_page(blocks, search(blocks, blocks_key(young->address)), young->address,
				       young->slot) != BLOCKS_ADDED)
		return add_to_page(blocks, search(blocks, blocks_key(address)), address, slot);
	*young = (struct block_young){ address, slot };
	return BLOCKS_ADDED;
}

uint64_t blocks_find_old(const struct blocks *blocks, uint64_t address)
{
	struct block_page *page = search(blocks, blocks_key(address))->page;
	const uint32_t i = page ? page_search(page, tag_of(address)) : NONE;

	return i == NONE ? 0 : page_slots(page)[i];
}

uint64_t blocks_take_old(struct blocks *blocks, uint64_t address)
{
	struct block_young *const young = blocks_young(blocks, address);
	struct block_page *page = search(blocks, blocks_key(address))->page;
	const uint32_t i = page ? page_search(page, tag_of(address)) : NONE;
	uint64_t *slots, slot;

	if (i == NONE)
		return 0;
	slots = page_slots(page);
	slot = slots[i];
	/* The last one fills the hole. */
	page->n--;
	page->tags[i] = page->tags[page->n];
	slots[i] = slots[page->n];
	if (!young->slot)
		young->address = address;
	return slot;
}

/* ---- all blocks ---- */

uint64_t blocks_count(const struct blocks *blocks)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i <= blocks->mask; i++)
		n += blocks->places[i].page ? blocks->places[i].page->n : 0;
	for (uint32_t i = 0; i < 1u << BLOCKS_YOUNG_BITS; i++)
		n += blocks->young[i].slot != 0;
	return n;
}

void blocks_list(const struct blocks *blocks, struct block_ref *refs)
{
	for (uint64_t i = 0; i <= blocks->mask; i++) {
		struct block_page *page = blocks->places[i].page;

		for (uint32_t k = 0; page && k < page->n; k++) {
			uint64_t *slot = &page_slots(page)[k];

			*refs++ = (struct block_ref){ .key = *slot, .slot = slot };
		}
	}
	for (uint32_t i = 0; i < 1u << BLOCKS_YOUNG_BITS; i++) {
		uint64_t *slot = &blocks->young[i].slot;

		if (*slot)
			*refs++ = (struct block_ref){ .key = *slot, .slot = slot };
	}
}

struct block_ref block_at(struct block *block)
{
	return (struct block_ref){ .key = block_pack(*block), .block = block };
}

struct block block_get(const struct block_ref *ref)
{
	return ref->slot ? block_unpack(*ref->slot) : *ref->block;
}

void block_set(const struct block_ref *ref, struct block block)
{
	if (ref->slot)
		*ref->slot = block_pack(block);
	else
		*ref->block = block;
}
