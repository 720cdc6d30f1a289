/* SPDX-License-Identifier: MIT */
#include "elders.h"

#include <stdlib.h>
#include <string.h>

#define RANK_BITS 39u /* beside those of a kind, so that no key is the map's UINT64_MAX */
#define RANK_MASK ((UINT64_C(1) << RANK_BITS) - 1)
#define AHEAD 8u /* blocks that are looked for soon */

static const char no_memory[] = "";

void elders_finish(struct elders *e)
{
	free(e->counts);
	indexmap_finish(&e->blocks);
	*e = (struct elders){ 0 };
}

/*
 * Blocks of a kind that came one after the other lie together in the map; most kinds have few, of the same low ranks,
 * and these shall not lie in the same places of their groups.
 */
static uint64_t key_of(uint32_t kind, uint64_t rank)
{
	return (uint64_t)kind << RANK_BITS | ((rank + kind * UINT64_C(3)) & RANK_MASK);
}

static bool room_for(struct elders *e, uint32_t kind)
{
	const uint32_t n = kind + kind / 2 + 64;
	uint64_t *counts;

	if (kind < e->n_counts)
		return true;
	counts = realloc(e->counts, n * sizeof(*counts));
	if (!counts)
		return false;
	memset(counts + e->n_counts, 0, (n - e->n_counts) * sizeof(*counts));
	e->counts = counts;
	e->n_counts = n;
	return true;
}

/* A hint. */
static void foresee(const struct elders *e, const struct ranks_elder *elder)
{
	indexmap_foresee(&e->blocks, key_of(elder->kind, e->counts[elder->kind] - elder->back));
}

/* The blocks that go, or are named. */
static const char *find(struct elders *e, const struct ranks *ranks, bool whole, uint64_t *freed)
{
	for (uint32_t i = 0; i < ranks->n_elders; i++) {
		const struct ranks_elder *const elder = &ranks->elders[i];
		const uint64_t count = e->counts[elder->kind];
		uint64_t key;

		if (i + AHEAD < ranks->n_elders)
			foresee(e, &ranks->elders[i + AHEAD]);
		if (elder->back > count) {
			if (whole)
				return "a block is freed before it exists";
			continue;
		}
		key = key_of(elder->kind, count - elder->back);
		if (elder->goes)
			indexmap_take(&e->blocks, key, &freed[elder->entry]);
		else
			indexmap_find(&e->blocks, key, &freed[elder->entry]);
	}
	return NULL;
}

/* What the chunk leaves of a kind. */
static bool keep(struct elders *e, const struct ranks *ranks, const struct ranks_kind *kind,
		 uint64_t first_alloc)
{
	const uint64_t rank = e->counts[kind->kind];
	const uint32_t *const allocs = &ranks->allocs[kind->first];

	for (uint32_t i = 0; i < kind->n; i++) {
		if (!(allocs[i] & RANKS_GONE) &&
		    !indexmap_put(&e->blocks, key_of(kind->kind, rank + i), first_alloc + allocs[i]))
			return false;
	}
	return true;
}

const char *elders_take(struct elders *e, const struct ranks *ranks, uint64_t first_alloc, bool whole,
			uint64_t *freed)
{
	const char *wrong;

	for (uint32_t i = 0; i < ranks->n_kinds; i++) {
		if (!room_for(e, ranks->kinds[i].kind))
			return no_memory;
	}
	wrong = find(e, ranks, whole, freed);
	for (uint32_t i = 0; i < ranks->n_kinds && !wrong; i++) {
		const struct ranks_kind *const kind = &ranks->kinds[i];
		uint64_t *const count = &e->counts[kind->kind];

		if (*count > RANK_MASK - kind->n)
			return "more blocks of a kind than there can be";
		if (!keep(e, ranks, kind, first_alloc))
			return no_memory;
		*count += kind->n;
	}
	return wrong;
}
