/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define FIRST_BUCKETS 1024u
#define PAGE_BITS 12
#define ALIGN_BITS 4     /* of most blocks; others have pages of their own */
#define NEIGHBOUR_BITS 2 /* of the pages whose buckets lie together: as much as a cache line has */
#define PAGE_BLOCKS_FIRST 4u
#define PAGE_BLOCKS_MOST (1u << (PAGE_BITS - ALIGN_BITS))

_Static_assert(PAGE_BLOCKS_MOST <= 256, "a tag is a byte");
_Static_assert(PAGE_BLOCKS_FIRST * 9 >= 16, "page_search() reads 16 bytes");

/* A page's blocks in no order. Behind the tags stand as many words, see page_words(). */
struct block_page {
	uint16_t n, capacity;
	uint8_t tags[]; /* tags[i]: which sixteen bytes of the page block i is at */
};

struct block_bucket {
	uint64_t key; /* see key_of(); 0: free */
	struct block_page *page;
};

/* The page that an address is in: that of those near it with the same remainder by sixteen. Never 0. */
static inline uint64_t key_of(uint64_t address)
{
	return (address << (64 - ALIGN_BITS) | address >> ALIGN_BITS) >> (PAGE_BITS - ALIGN_BITS) |
	       (uint64_t)1 << 63;
}

static inline uint8_t tag_of(uint64_t address)
{
	return (uint8_t)(address >> ALIGN_BITS);
}

/* ---- a page ---- */

static size_t words_at(uint32_t capacity)
{
	return (sizeof(struct block_page) + capacity + 7) / 8 * 8;
}

static uint64_t *page_words(struct block_page *page)
{
	return (uint64_t *)(void *)((char *)page + words_at(page->capacity));
}

/* A page with this capacity and the blocks of `from`, which may be NULL; NULL: no memory. */
static struct block_page *page_copy(struct block_page *from, uint32_t capacity)
{
	struct block_page *page = calloc(1, words_at(capacity) + capacity * sizeof(uint64_t));

	if (!page)
		return NULL;
	page->capacity = (uint16_t)capacity;
	if (from) {
		assert(from->n <= capacity);
		page->n = from->n;
		memcpy(page->tags, from->tags, from->n);
		memcpy(page_words(page), page_words(from), from->n * sizeof(uint64_t));
	}
	return page;
}

#ifdef __SSE2__
/* Where in the page a block's word is; NULL: it has none. Compares 16 tags at a time. */
static inline uint64_t *page_search(struct block_page *page, uint8_t tag)
{
	const __m128i wanted = _mm_set1_epi8((char)tag);

	for (uint32_t i = 0; i < page->n; i += 16) {
		/* Words follow the tags: 16 bytes are there, and what is behind the last tag is found last. */
		const __m128i tags = _mm_loadu_si128((const __m128i *)(const void *)&page->tags[i]);
		const unsigned equal = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, wanted));

		if (equal) {
			const uint32_t at = i + (uint32_t)__builtin_ctz(equal);

			return at < page->n ? &page_words(page)[at] : NULL;
		}
	}
	return NULL;
}
#else
/* The same where the C library compares as many at a time. */
static inline uint64_t *page_search(struct block_page *page, uint8_t tag)
{
	const uint8_t *const found = memchr(page->tags, tag, page->n);

	return found ? &page_words(page)[found - page->tags] : NULL;
}
#endif

/* ---- the table ---- */

int blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){ .mask = FIRST_BUCKETS - 1 };
	blocks->buckets = calloc(FIRST_BUCKETS, sizeof(*blocks->buckets));
	return blocks->buckets ? 0 : -1;
}

void blocks_finish(struct blocks *blocks)
{
	for (uint64_t i = 0; blocks->buckets && i <= blocks->mask; i++)
		free(blocks->buckets[i].page);
	free(blocks->buckets);
	*blocks = (struct blocks){ 0 };
}

/* The bucket of a key, or the free one where the search ends. */
static inline struct block_bucket *search(const struct blocks *blocks, uint64_t key)
{
	const uint64_t home = (key >> NEIGHBOUR_BITS) * 0x9e3779b97f4a7c15u >> 20;
	uint64_t i = (home << NEIGHBOUR_BITS | (key & ((1u << NEIGHBOUR_BITS) - 1))) & blocks->mask;

	while (__builtin_expect(blocks->buckets[i].key != key, 0) && blocks->buckets[i].key)
		i = (i + 1) & blocks->mask;
	return &blocks->buckets[i];
}

int blocks_copy(struct blocks *to, const struct blocks *from)
{
	*to = (struct blocks){ .mask = from->mask };
	to->buckets = calloc(from->mask + 1, sizeof(*to->buckets));
	if (!to->buckets)
		return -1;
	for (uint64_t i = 0; i <= from->mask; i++) {
		struct block_page *const page = from->buckets[i].page;
		struct block_bucket *bucket;

		if (!page || page->n == 0)
			continue;
		bucket = search(to, from->buckets[i].key);
		bucket->page = page_copy(page, page->capacity);
		if (!bucket->page) {
			blocks_finish(to);
			return -1;
		}
		bucket->key = from->buckets[i].key;
		to->n_pages++;
		to->n += page->n;
	}
	assert(to->n == from->n);
	return 0;
}

/* Makes the table anew, without empty pages, and with room. */
static int renew(struct blocks *blocks)
{
	struct blocks fresh = { .mask = blocks->mask, .n = blocks->n };

	for (uint64_t i = 0; i <= blocks->mask; i++)
		fresh.n_pages += blocks->buckets[i].page && blocks->buckets[i].page->n > 0;
	if (fresh.n_pages > blocks->mask / 4)
		fresh.mask = blocks->mask * 2 + 1;
	fresh.buckets = calloc(fresh.mask + 1, sizeof(*fresh.buckets));
	if (!fresh.buckets)
		return -1;
	for (uint64_t i = 0; i <= blocks->mask; i++) {
		const struct block_bucket *const bucket = &blocks->buckets[i];

		if (bucket->page && bucket->page->n > 0)
			*search(&fresh, bucket->key) = *bucket;
		else
			free(bucket->page);
	}
	free(blocks->buckets);
	*blocks = fresh;
	return 0;
}

/* Blocks that a new page is made for: a few more than there are in the page before it, which the heap has grown through. */
static uint32_t first_capacity(const struct blocks *blocks, uint64_t key)
{
	const struct block_page *const before = search(blocks, key - 1)->page;
	const uint32_t n = before ? (before->n + before->n / 8 + 7u) / 8 * 8 : 0;

	return n < PAGE_BLOCKS_FIRST ? PAGE_BLOCKS_FIRST : n < PAGE_BLOCKS_MOST ? n : PAGE_BLOCKS_MOST;
}

/* Makes a page, or one twice as large of a full one, for another block of that key; NULL: no memory. */
static struct block_page *make_room(struct blocks *blocks, uint64_t key)
{
	struct block_bucket *bucket = search(blocks, key);
	struct block_page *grown;
	uint32_t capacity;

	if (!bucket->key && blocks->n_pages >= blocks->mask / 2) {
		if (renew(blocks) != 0)
			return NULL;
		bucket = search(blocks, key);
	}
	if (bucket->page) {
		assert(bucket->page->capacity < PAGE_BLOCKS_MOST);
		capacity = bucket->page->capacity * 2u;
		if (capacity > PAGE_BLOCKS_MOST)
			capacity = PAGE_BLOCKS_MOST;
	} else {
		capacity = first_capacity(blocks, key);
	}
	grown = page_copy(bucket->page, capacity);
	if (!grown)
		return NULL;
	free(bucket->page);
	blocks->n_pages += !bucket->key;
	*bucket = (struct block_bucket){ key, grown };
	return grown;
}

static inline void add(struct blocks *blocks, struct block_page *page, uint8_t tag, uint64_t word)
{
	page->tags[page->n] = tag;
	page_words(page)[page->n++] = word;
	blocks->n++;
}

static __attribute__((noinline)) enum blocks_added add_with_room(struct blocks *blocks, uint64_t address,
								 uint64_t word)
{
	struct block_page *const page = make_room(blocks, key_of(address));

	if (!page)
		return BLOCKS_NO_MEMORY;
	add(blocks, page, tag_of(address), word);
	return BLOCKS_ADDED;
}

enum blocks_added blocks_add(struct blocks *blocks, uint64_t address, struct block block)
{
	struct block_page *const page = search(blocks, key_of(address))->page;
	const uint64_t word = block_pack(block);

	if (page && page_search(page, tag_of(address)))
		return BLOCKS_LIVE;
	if (__builtin_expect(!page || page->n == page->capacity, 0))
		return add_with_room(blocks, address, word);
	add(blocks, page, tag_of(address), word);
	return BLOCKS_ADDED;
}

bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block)
{
	struct block_page *const page = search(blocks, key_of(address))->page;
	const uint64_t *const word = page ? page_search(page, tag_of(address)) : NULL;

	*block = word ? block_unpack(*word) : (struct block){ 0 };
	return word;
}

uint64_t blocks_take_word(struct blocks *blocks, uint64_t address)
{
	struct block_page *const page = search(blocks, key_of(address))->page;
	uint64_t *const word = page ? page_search(page, tag_of(address)) : NULL;
	uint64_t *words, taken;

	if (!word)
		return 0;
	taken = *word;
	assert(blocks->n > 0);
	blocks->n--;
	/* The last one fills the hole. */
	page->n--;
	words = page_words(page);
	page->tags[word - words] = page->tags[page->n];
	*word = words[page->n];
	return taken;
}

/* ---- all blocks ---- */

uint64_t blocks_count(const struct blocks *blocks)
{
	return blocks->n;
}

void blocks_list(const struct blocks *blocks, struct block_ref *refs)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i <= blocks->mask; i++) {
		struct block_page *const page = blocks->buckets[i].page;

		for (uint32_t k = 0; page && k < page->n; k++) {
			uint64_t *const word = &page_words(page)[k];

			refs[n++] = (struct block_ref){ .key = *word, .word = word };
		}
	}
	assert(n == blocks->n);
}

static void verify_page(const struct block_page *page)
{
	bool seen[PAGE_BLOCKS_MOST] = { false };

	assert(page->n <= page->capacity && page->capacity <= PAGE_BLOCKS_MOST);
	for (uint32_t i = 0; i < page->n; i++) {
		assert(!seen[page->tags[i]]); /* an address is never live twice */
		seen[page->tags[i]] = true;
	}
}

void blocks_verify(const struct blocks *blocks)
{
	uint64_t n_pages = 0, n = 0;

	assert((blocks->mask & (blocks->mask + 1)) == 0);
	for (uint64_t i = 0; i <= blocks->mask; i++) {
		const struct block_bucket *const bucket = &blocks->buckets[i];

		assert(!bucket->key == !bucket->page);
		if (!bucket->key)
			continue;
		assert(search(blocks, bucket->key) == bucket);
		verify_page(bucket->page);
		n_pages++;
		n += bucket->page->n;
	}
	assert(n_pages == blocks->n_pages && n_pages <= blocks->mask / 2 + 1 && n == blocks->n);
}

struct block_ref block_at(struct block *block)
{
	return (struct block_ref){ .key = block_pack(*block), .block = block };
}

struct block block_get(const struct block_ref *ref)
{
	return ref->word ? block_unpack(*ref->word) : *ref->block;
}

void block_set(const struct block_ref *ref, struct block block)
{
	if (ref->word)
		*ref->word = block_pack(block);
	else
		*ref->block = block;
}
