/* SPDX-License-Identifier: MIT */
#include "hash_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BUCKETS_MIN 1024u

bool hash_index_init(struct hash_index *index)
{
	*index = (struct hash_index){ .mask = BUCKETS_MIN - 1 };
	index->buckets = calloc(BUCKETS_MIN, sizeof(*index->buckets));
	return index->buckets != NULL;
}

void hash_index_finish(struct hash_index *index)
{
	free(index->buckets);
	*index = (struct hash_index){ 0 };
}

void hash_index_clear(struct hash_index *index)
{
	memset(index->buckets, 0, ((size_t)index->mask + 1) * sizeof(*index->buckets));
	index->used = 0;
}

bool hash_index_copy(struct hash_index *to, const struct hash_index *from)
{
	const size_t bytes = ((size_t)from->mask + 1) * sizeof(*from->buckets);

	*to = *from;
	to->buckets = malloc(bytes);
	if (!to->buckets)
		return false;
	memcpy(to->buckets, from->buckets, bytes);
	return true;
}

static void place(struct hash_index *index, uint64_t bucket)
{
	uint32_t i = (uint32_t)(bucket >> 32) & index->mask;

	while (index->buckets[i])
		i = (i + 1) & index->mask;
	index->buckets[i] = bucket;
}

/* A search that starts at a bucket's home reaches the bucket. */
static void check_buckets(const struct hash_index *index)
{
	uint32_t used = 0;

	for (size_t k = 0; k <= index->mask; k++) {
		const uint64_t bucket = index->buckets[k];

		for (uint32_t i = (uint32_t)(bucket >> 32) & index->mask; bucket && i != k;
		     i = (i + 1) & index->mask)
			assert(index->buckets[i]);
		used += bucket != 0;
	}
	assert(used == index->used && (index->mask & (index->mask + 1)) == 0);
}

bool hash_index_grow(struct hash_index *index)
{
	struct hash_index grown = *index;

	if (check_wanted())
		check_buckets(index);
	if (index->mask == UINT32_MAX)
		return false;
	grown.mask = index->mask * 2 + 1;
	grown.buckets = calloc((size_t)grown.mask + 1, sizeof(*grown.buckets));
	if (!grown.buckets)
		return false;
	for (size_t i = 0; i <= index->mask; i++) {
		if (index->buckets[i])
			place(&grown, index->buckets[i]);
	}
	free(index->buckets);
	*index = grown;
	return true;
}

void hash_index_add(struct hash_index *index, uint32_t hash, uint32_t id)
{
	assert(index->used < index->mask / 2);
	assert(id < UINT32_MAX);
	place(index, (uint64_t)hash << 32 | (id + 1));
	index->used++;
}
