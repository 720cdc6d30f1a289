/* SPDX-License-Identifier: MIT */
#include "string_set.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash_index.h"
#include "printable.h"
#include "string_pool.h"

struct text {
	const char *text;
	size_t n;
};

struct string_set {
	struct text *items; /* [n]; text number i + 1 is item i */
	uint32_t n, capacity;
	struct hash_index index; /* of items */
	struct pool pool;
};

struct string_set *string_set_create(void)
{
	struct string_set *set = calloc(1, sizeof(*set));

	if (set && !hash_index_init(&set->index)) {
		free(set);
		return NULL;
	}
	return set;
}

void string_set_destroy(struct string_set *set)
{
	if (!set)
		return;
	hash_index_finish(&set->index);
	pool_finish(&set->pool);
	free(set->items);
	free(set);
}

/* A NUL-terminated copy in the pool. */
static const char *copy_text(struct pool *pool, const char *text, size_t n)
{
	char *copy = pool_take(pool, n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

/* Names have hundreds of bytes: eight at a time. */
static uint32_t hash_of(const char *text, size_t n)
{
	uint64_t hash = n, word;

	for (; n >= sizeof(word); n -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, n);
	return hash_words(hash, word);
}

/* The text's item, added if it is missing. NULL: no memory. */
static const struct text *find_or_add(struct string_set *set, const char *text, size_t n)
{
	const uint32_t hash = hash_of(text, n);
	const char *copy;

	if (!hash_index_reserve(&set->index))
		return NULL;
	for (uint32_t i = hash_index_first(&set->index, hash), id;
	     hash_index_next(&set->index, hash, &i, &id);) {
		if (set->items[id].n == n && memcmp(set->items[id].text, text, n) == 0)
			return &set->items[id];
	}
	if (!array_reserve(&set->items, set->n, &set->capacity, sizeof(*set->items)))
		return NULL;
	copy = copy_text(&set->pool, text, n);
	if (!copy)
		return NULL;
	assert(set->index.used == set->n);
	hash_index_add(&set->index, hash, set->n);
	set->items[set->n] = (struct text){ copy, n };
	return &set->items[set->n++];
}

const char *string_set_add(struct string_set *set, const char *text, size_t n)
{
	const struct text *item = find_or_add(set, text, n);

	return item ? item->text : NULL;
}

const char *string_set_add_shown(struct string_set *set, const char *text, size_t n)
{
	const char *kept;
	char *copy;

	if (printable_run(text, n) == n)
		return string_set_add(set, text, n);
	copy = printable_copy(text, n);
	kept = copy ? string_set_add(set, copy, strlen(copy)) : NULL;
	free(copy);
	return kept;
}

size_t string_set_number(struct string_set *set, const char *text, size_t n)
{
	const struct text *item = find_or_add(set, text, n);

	return item ? (size_t)(item - set->items) + 1 : 0;
}
