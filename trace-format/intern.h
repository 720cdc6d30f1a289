/* SPDX-License-Identifier: MIT */
/*
 * A hash index over an array of definitions: finds the dense id of equal content. The array
 * belongs to the caller; the index holds (hash, id) pairs and never looks at the content, so a
 * search is a loop over candidates:
 *
 *     for (i = intern_first(index, hash); intern_next(index, hash, &i, &id);)
 *             if (array[id] equals the wanted content)
 *                     return id;
 *     intern_add(index, hash, new_id);
 */
#ifndef MSTRACE_INTERN_H
#define MSTRACE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

struct intern {
	uint64_t *slots; /* hash in the high half, id + 1 in the low half; 0 = free */
	uint32_t mask;   /* slots - 1; at least half of the slots are free */
	uint32_t used;
};

/* 0 or MST_ERR_NOMEM. */
int intern_init(struct intern *index);
void intern_finish(struct intern *index);
int intern_copy(struct intern *to, const struct intern *from);

/* Twice the room. 0 or MST_ERR_NOMEM. */
int intern_grow(struct intern *index);

/* Call before intern_first() so that intern_add() cannot fail. 0 or MST_ERR_NOMEM. */
static inline int intern_reserve(struct intern *index)
{
	return __builtin_expect(index->used < index->mask / 2, 1) ? 0 : intern_grow(index);
}

static inline uint32_t intern_first(const struct intern *index, uint32_t hash)
{
	return hash & index->mask;
}

static inline bool intern_next(const struct intern *index, uint32_t hash, uint32_t *i, uint32_t *id)
{
	uint64_t slot;

	while ((slot = index->slots[*i]) != 0) {
		*i = (*i + 1) & index->mask;
		if ((uint32_t)(slot >> 32) == hash) {
			*id = (uint32_t)slot - 1;
			return true;
		}
	}
	return false;
}

void intern_add(struct intern *index, uint32_t hash, uint32_t id);

/* Mixes two words into 32 bits. */
static inline uint32_t intern_hash(uint64_t a, uint64_t b)
{
	uint64_t h = a * 0x9e3779b97f4a7c15u;

	h = (h ^ (h >> 32) ^ b) * 0xd6e8feb86659fd93u;
	return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

#endif
