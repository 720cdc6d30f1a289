/* SPDX-License-Identifier: MIT */
#include "carried_over.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define ORDINAL_BITS 39u /* beside those of a kind, so that no key is the map's UINT64_MAX */
#define ORDINAL_MASK ((UINT64_C(1) << ORDINAL_BITS) - 1)
#define AHEAD 8u /* blocks that are prefetched */

enum {
	LEFTOVER_MIN = 16, /* live blocks that make an array worth it ... */
	SPARSE = 16,       /* ... if more than one of so many in it are live */
};

static const char no_memory[] = "";

void carried_over_finish(struct carried_over *e)
{
	for (uint32_t k = 0; k < e->n_kinds; k++) {
		for (uint32_t i = 0; i < e->kinds[k].n; i++)
			free(e->kinds[k].leftovers[i].allocs);
		free(e->kinds[k].leftovers);
	}
	free(e->kinds);
	index_map_finish(&e->rest);
	*e = (struct carried_over){ 0 };
}

/*
 * The map keeps consecutive keys together, which suits the blocks of a kind. Most kinds have few blocks, with the same
 * low ordinals; the factor spreads these over the places of a group.
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

/* ---- leftovers ---- */

/* The leftover that has the ordinal, or NULL: the last one that doesn't begin behind it, if it reaches so far. */
static struct leftover *leftover_at(const struct carried_over_kind *kind, uint64_t ordinal)
{
	struct leftover *found = kind->leftovers;
	uint32_t n = kind->n;

	/* Without a branch, because which half it is cannot be predicted. */
	while (n > 1) {
		const uint32_t half = n / 2;

		found = found[half].ordinal <= ordinal ? found + half : found;
		n -= half;
	}
	return n && ordinal - found->ordinal < found->n ? found : NULL;
}

/* Makes room for one more; empty leftovers are removed when they are half of all. */
static bool room_for_leftover(struct carried_over_kind *kind)
{
	struct leftover *leftovers;
	uint32_t n = 0;

	if (2 * kind->gone > kind->n) {
		for (uint32_t i = 0; i < kind->n; i++) {
			if (kind->leftovers[i].n)
				kind->leftovers[n++] = kind->leftovers[i];
		}
		assert(n == kind->n - kind->gone);
		kind->n = n;
		kind->gone = 0;
	}
	/* The array has a power of two of places. */
	if (kind->n & (kind->n - 1))
		return true;
	leftovers = realloc(kind->leftovers, (kind->n ? 2 * (size_t)kind->n : 1) * sizeof(*leftovers));
	if (leftovers)
		kind->leftovers = leftovers;
	return leftovers;
}

/* Moves the live blocks to the map. If memory runs out, the others stay in the array. */
static void move_to_map(struct carried_over *e, uint32_t kind, struct leftover *leftover)
{
	for (uint32_t i = 0; leftover->live > 0; i++) {
		assert(i < leftover->n);
		if (leftover->allocs[i] & ORDINALS_GONE)
			continue;
		if (!index_map_put(&e->rest, key_of(kind, leftover->ordinal + i),
				   leftover->first_alloc + leftover->allocs[i]))
			return;
		leftover->allocs[i] |= ORDINALS_GONE;
		leftover->live--;
	}
	assert(e->kinds[kind].gone < e->kinds[kind].n);
	free(leftover->allocs);
	leftover->allocs = NULL;
	leftover->n = 0;
	e->kinds[kind].gone++;
}

/* ---- a chunk ---- */

/* Prefetches the block's place in an array, which is returned; NULL: the block is in the map, if anywhere. */
static struct leftover *prefetch(const struct carried_over *e, const struct ordinals_older *older)
{
	const struct carried_over_kind *const kind = &e->kinds[older->kind];
	const uint64_t ordinal = kind->count - older->back;
	struct leftover *const leftover = leftover_at(kind, ordinal);

	if (leftover)
		__builtin_prefetch(&leftover->allocs[ordinal - leftover->ordinal], 1);
	return leftover;
}

/* Puts the block's index into *block if it is live, and removes it if it `goes`. */
static void find_older(struct carried_over *e, struct leftover *leftover, uint32_t kind, uint64_t ordinal,
		       bool goes, uint64_t *block)
{
	/* The leftover may be gone by now. */
	uint32_t *const alloc =
		leftover && leftover->n ? &leftover->allocs[ordinal - leftover->ordinal] : NULL;

	if (alloc && !(*alloc & ORDINALS_GONE)) {
		*block = leftover->first_alloc + *alloc;
		*alloc |= goes ? ORDINALS_GONE : 0;
		assert(leftover->live > 0);
		leftover->live -= goes;
		if (leftover->live <= leftover->n / SPARSE)
			move_to_map(e, kind, leftover);
	} else if (goes) {
		index_map_take(&e->rest, key_of(kind, ordinal), block);
	} else {
		index_map_find(&e->rest, key_of(kind, ordinal), block);
	}
}

/* Finds the blocks of former chunks that this one frees or names. */
static const char *find(struct carried_over *e, const struct ordinals *ordinals, bool whole, uint64_t *freed)
{
	struct leftover *leftovers[AHEAD];

	for (uint32_t i = 0; i < ordinals->n_older + AHEAD; i++) {
		struct leftover **const leftover = &leftovers[i % AHEAD];

		if (i >= AHEAD) {
			const struct ordinals_older *const older = &ordinals->carried_over[i - AHEAD];
			const uint64_t count = e->kinds[older->kind].count;

			if (older->back <= count)
				find_older(e, *leftover, older->kind, count - older->back, older->goes,
					   &freed[older->entry]);
			else if (whole)
				return "a block is freed before it exists";
		}
		if (i < ordinals->n_older)
			*leftover = prefetch(e, &ordinals->carried_over[i]);
	}
	return NULL;
}

/* Whether `live` is true. */
static __attribute__((unused)) bool leftover_is_sound(const struct leftover *leftover)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < leftover->n; i++)
		live += !(leftover->allocs[i] & ORDINALS_GONE);
	return live == leftover->live;
}

/* Keeps an array, of which the first and the last block are live. */
static bool keep_leftover(struct carried_over_kind *kind, struct leftover leftover, const uint32_t *allocs)
{
	const size_t size = leftover.n * sizeof(*allocs);

	assert(leftover.n && leftover.live <= leftover.n);
	assert(!(allocs[0] & ORDINALS_GONE) && !(allocs[leftover.n - 1] & ORDINALS_GONE));
	assert(!kind->n ||
	       kind->leftovers[kind->n - 1].ordinal + kind->leftovers[kind->n - 1].n <= leftover.ordinal);
	if (!room_for_leftover(kind))
		return false;
	leftover.allocs = malloc(size);
	if (!leftover.allocs)
		return false;
	memcpy(leftover.allocs, allocs, size);
	assert(!check_wanted() || leftover_is_sound(&leftover));
	kind->leftovers[kind->n++] = leftover;
	return true;
}

/* Keeps what the chunk leaves of a kind: as an array if that is dense enough, else in the map. */
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
	if (live >= LEFTOVER_MIN && live > (end - first) / SPARSE)
		return keep_leftover(kind,
				     (struct leftover){ .ordinal = kind->count + first,
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
