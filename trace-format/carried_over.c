/* SPDX-License-Identifier: MIT */
#include "carried_over.h"

#include <stdlib.h>
#include <string.h>

#define ORDINAL_BITS 39u /* beside those of a kind, so that no key is the map's UINT64_MAX */
#define ORDINAL_MASK ((UINT64_C(1) << ORDINAL_BITS) - 1)
#define AHEAD 8u /* blocks that are looked for soon */

enum {
	BROOD_MIN = 16, /* fewer live blocks don't make one */
	SPARSE = 16,    /* nor does one of so many, or less */
};

static const char no_memory[] = "";

void carried_over_finish(struct carried_over *e)
{
	for (uint32_t k = 0; k < e->n_kinds; k++) {
		for (uint32_t i = 0; i < e->kinds[k].n; i++)
			free(e->kinds[k].broods[i].allocs);
		free(e->kinds[k].broods);
	}
	free(e->kinds);
	index_map_finish(&e->rest);
	*e = (struct carried_over){ 0 };
}

/*
 * Blocks of a kind that came one after the other lie together in the map; most kinds have few, of the same low ordinals,
 * and these shall not lie in the same places of their groups.
 */
static uint64_t key_of(uint32_t kind, uint64_t ordinal)
{
	return (uint64_t)kind << ORDINAL_BITS | ((ordinal + kind * UINT64_C(3)) & ORDINAL_MASK);
}

static bool room_for(struct carried_over *e, uint32_t kind)
{
	const uint32_t n = kind + kind / 2 + 64;
	struct carried_over_kind *kinds;

	if (kind < e->n_kinds)
		return true;
	kinds = realloc(e->kinds, n * sizeof(*kinds));
	if (!kinds)
		return false;
	memset(kinds + e->n_kinds, 0, (n - e->n_kinds) * sizeof(*kinds));
	e->kinds = kinds;
	e->n_kinds = n;
	return true;
}

/* ---- broods ---- */

/* The one that has the ordinal, if any has: the last one that doesn't begin behind it. NULL: there is none. */
static struct brood *brood_at(const struct carried_over_kind *kind, uint64_t ordinal)
{
	struct brood *found = kind->broods;
	uint32_t n = kind->n;

	/* Which half it is can't be predicted: no branch. */
	while (n > 1) {
		const uint32_t half = n / 2;

		found = found[half].ordinal <= ordinal ? found + half : found;
		n -= half;
	}
	return n && ordinal - found->ordinal < found->n ? found : NULL;
}

/* Broods that are gone are left out, when they are half of all, before one is added. */
static bool room_for_brood(struct carried_over_kind *kind)
{
	struct brood *broods;
	uint32_t n = 0;

	if (2 * kind->gone > kind->n) {
		for (uint32_t i = 0; i < kind->n; i++) {
			if (kind->broods[i].n)
				kind->broods[n++] = kind->broods[i];
		}
		kind->n = n;
		kind->gone = 0;
	}
	/* There is room up to the next power of two. */
	if (kind->n & (kind->n - 1))
		return true;
	broods = realloc(kind->broods, (kind->n ? 2 * (size_t)kind->n : 1) * sizeof(*broods));
	if (broods)
		kind->broods = broods;
	return broods;
}

/* Moves what is left to the map; without memory for it, it stays. */
static void disband(struct carried_over *e, uint32_t kind, struct brood *brood)
{
	for (uint32_t i = 0; brood->live > 0; i++) {
		if (brood->allocs[i] & ORDINALS_GONE)
			continue;
		if (!index_map_put(&e->rest, key_of(kind, brood->ordinal + i),
				   brood->first_alloc + brood->allocs[i]))
			return;
		brood->allocs[i] |= ORDINALS_GONE;
		brood->live--;
	}
	free(brood->allocs);
	brood->allocs = NULL;
	brood->n = 0;
	e->kinds[kind].gone++;
}

/* ---- a chunk ---- */

/* Where the block is, or NULL: perhaps in the map. It will be looked at soon. */
static struct brood *foresee(const struct carried_over *e, const struct ordinals_elder *elder)
{
	const struct carried_over_kind *const kind = &e->kinds[elder->kind];
	const uint64_t ordinal = kind->count - elder->back;
	struct brood *const brood = brood_at(kind, ordinal);

	if (brood)
		__builtin_prefetch(&brood->allocs[ordinal - brood->ordinal], 1);
	else
		index_map_foresee(&e->rest, key_of(elder->kind, ordinal));
	return brood;
}

/* Puts the block's index into *block, if it is live, and takes it out if it `goes`. */
static void find_elder(struct carried_over *e, struct brood *brood, uint32_t kind, uint64_t ordinal,
		       bool goes, uint64_t *block)
{
	/* The brood may be gone by now. */
	uint32_t *const alloc = brood && brood->n ? &brood->allocs[ordinal - brood->ordinal] : NULL;

	if (alloc && !(*alloc & ORDINALS_GONE)) {
		*block = brood->first_alloc + *alloc;
		*alloc |= goes ? ORDINALS_GONE : 0;
		brood->live -= goes;
		if (brood->live <= brood->n / SPARSE)
			disband(e, kind, brood);
	} else if (goes) {
		index_map_take(&e->rest, key_of(kind, ordinal), block);
	} else {
		index_map_find(&e->rest, key_of(kind, ordinal), block);
	}
}

/* The blocks that go, or are named. */
static const char *find(struct carried_over *e, const struct ordinals *ordinals, bool whole, uint64_t *freed)
{
	struct brood *broods[AHEAD];

	for (uint32_t i = 0; i < ordinals->n_elders + AHEAD; i++) {
		struct brood **const brood = &broods[i % AHEAD];

		if (i >= AHEAD) {
			const struct ordinals_elder *const elder = &ordinals->carried_over[i - AHEAD];
			const uint64_t count = e->kinds[elder->kind].count;

			if (elder->back <= count)
				find_elder(e, *brood, elder->kind, count - elder->back, elder->goes,
					   &freed[elder->entry]);
			else if (whole)
				return "a block is freed before it exists";
		}
		if (i < ordinals->n_elders)
			*brood = foresee(e, &ordinals->carried_over[i]);
	}
	return NULL;
}

/* What the chunk leaves of a kind, among allocs[n], of which the first and the last are live. */
static bool keep_brood(struct carried_over_kind *kind, struct brood brood, const uint32_t *allocs)
{
	const size_t size = brood.n * sizeof(*allocs);

	if (!room_for_brood(kind))
		return false;
	brood.allocs = malloc(size);
	if (!brood.allocs)
		return false;
	memcpy(brood.allocs, allocs, size);
	kind->broods[kind->n++] = brood;
	return true;
}

static bool keep(struct carried_over *e, const struct ordinals *ordinals, const struct ordinals_kind *left,
		 uint64_t first_alloc)
{
	struct carried_over_kind *const kind = &e->kinds[left->kind];
	const uint32_t *const allocs = &ordinals->allocs[left->first];
	uint32_t first = 0, end = left->n, live = 0;

	while (first < end && allocs[first] & ORDINALS_GONE)
		first++;
	while (first < end && allocs[end - 1] & ORDINALS_GONE)
		end--;
	for (uint32_t i = first; i < end; i++)
		live += allocs[i] < ORDINALS_GONE;
	if (live >= BROOD_MIN && live > (end - first) / SPARSE)
		return keep_brood(kind,
				  (struct brood){ .ordinal = kind->count + first,
						  .first_alloc = first_alloc,
						  .n = end - first,
						  .live = live },
				  &allocs[first]);
	for (uint32_t i = first; i < end; i++) {
		if (!(allocs[i] & ORDINALS_GONE) &&
		    !index_map_put(&e->rest, key_of(left->kind, kind->count + i), first_alloc + allocs[i]))
			return false;
	}
	return true;
}

const char *carried_over_take(struct carried_over *e, const struct ordinals *ordinals, uint64_t first_alloc,
			      bool whole, uint64_t *freed)
{
	const char *wrong;

	for (uint32_t i = 0; i < ordinals->n_kinds; i++) {
		if (!room_for(e, ordinals->kinds[i].kind))
			return no_memory;
	}
	wrong = find(e, ordinals, whole, freed);
	for (uint32_t i = 0; i < ordinals->n_kinds && !wrong; i++) {
		const struct ordinals_kind *const kind = &ordinals->kinds[i];
		uint64_t *const count = &e->kinds[kind->kind].count;

		if (*count > ORDINAL_MASK - kind->n)
			return "more blocks of a kind than there can be";
		if (!keep(e, ordinals, kind, first_alloc))
			return no_memory;
		*count += kind->n;
	}
	return wrong;
}
