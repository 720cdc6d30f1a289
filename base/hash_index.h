/* SPDX-License-Identifier: MIT */
/*
 * Open-addressing index over an array of the caller's: finds the id (index in the array) of equal content. The index
 * holds (hash, id) pairs and never looks at the content, so a search is a loop over candidates:
 *
 *     if (!hash_index_reserve(index))
 *             return no memory;
 *     for (i = hash_index_first(index, hash); hash_index_next(index, hash, &i, &id);)
 *             if (array[id] equals the wanted content)
 *                     return id;
 *     hash_index_add(index, hash, new_id);
 *
 * Ids are below UINT32_MAX. Nothing is ever removed; index_map.h has a map that removes.
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_index {
	uint64_t *buckets; /* hash in the high half, id + 1 in the low half; 0: free */
	uint32_t mask;     /* number of buckets - 1, a power of two - 1 */
	uint32_t used;     /* at most mask / 2: a search ends at a free bucket */
};

/* False: no memory; the index may still be finished. */
bool hash_index_init(struct hash_index *index);

/* Zero-initialised is allowed. */
void hash_index_finish(struct hash_index *index);

/* `to` gets buckets of its own. False: no memory. */
bool hash_index_copy(struct hash_index *to, const struct hash_index *from);

/* Forgets all ids; the buckets stay. */
void hash_index_clear(struct hash_index *index);

/* Twice as many buckets. False: no memory; the index is as before. */
bool hash_index_grow(struct hash_index *index);

/* Makes room for one hash_index_add(). Moves buckets: call it before hash_index_first(). False: no memory. */
static inline bool hash_index_reserve(struct hash_index *index)
{
	return __builtin_expect(index->used < index->mask / 2, 1) || hash_index_grow(index);
}

static inline uint32_t hash_index_first(const struct hash_index *index, uint32_t hash)
{
	return hash & index->mask;
}

static inline bool hash_index_next(const struct hash_index *index, uint32_t hash, uint32_t *i, uint32_t *id)
{
	uint64_t bucket;

	while ((bucket = index->buckets[*i]) != 0) {
		*i = (*i + 1) & index->mask;
		if ((uint32_t)(bucket >> 32) == hash) {
			*id = (uint32_t)bucket - 1;
			return true;
		}
	}
	return false;
}

/* After hash_index_reserve(). */
void hash_index_add(struct hash_index *index, uint32_t hash, uint32_t id);

/* Mixes two words into 32 bits. */
static inline uint32_t hash_words(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0x9e3779b97f4a7c15u;

	h = (h ^ (h >> 32) ^ b) * 0xd6e8feb86659fd93u;
	return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* Hashes text[0..n). */
static inline uint32_t hash_text(const char *text, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
	return hash_words(hash, n);
}

#endif
