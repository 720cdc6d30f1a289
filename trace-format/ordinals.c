/* SPDX-License-Identifier: MIT */
#include "ordinals.h"

#include <assert.h>
#include <stdlib.h>

#include "wire.h"

void ordinals_finish(struct ordinals *r)
{
	free(r->kinds);
	free(r->allocs);
	free(r->carried_over);
	free(r->place_of);
	*r = (struct ordinals){ 0 };
}

void ordinals_scratch_finish(struct ordinals_scratch *scratch)
{
	free(scratch->place_of);
	*scratch = (struct ordinals_scratch){ 0 };
}

/* ---- room ---- */

/* The two arrays always have the same size. */
static bool room_for_tokens(struct ordinals *r, uint32_t n)
{
	if (n < r->room_tokens)
		return true;
	free(r->kinds);
	free(r->place_of);
	r->kinds = malloc((n + 1) * sizeof(*r->kinds));
	r->place_of = malloc((n + 1) * sizeof(*r->place_of));
	r->room_tokens = r->kinds && r->place_of ? n + 1 : 0;
	return r->room_tokens;
}

static bool room_for_records(struct ordinals *r, uint32_t n_allocs, uint32_t n_named)
{
	if (n_allocs >= r->room_allocs) {
		free(r->allocs);
		r->allocs = malloc((n_allocs + 1) * sizeof(*r->allocs));
		r->room_allocs = r->allocs ? n_allocs + 1 : 0;
	}
	if (n_named >= r->room_older) {
		free(r->carried_over);
		r->carried_over = malloc((n_named + 1) * sizeof(*r->carried_over));
		r->room_older = r->carried_over ? n_named + 1 : 0;
	}
	return r->allocs && r->carried_over;
}

static bool room_for_kinds(struct ordinals_scratch *scratch, uint32_t n)
{
	const uint32_t room = n + n / 2;
	uint32_t *place_of;

	if (n <= scratch->n)
		return true;
	place_of = calloc(room, sizeof(*place_of));
	if (!place_of)
		return false;
	free(scratch->place_of);
	scratch->place_of = place_of;
	scratch->n = room;
	return true;
}

/* ---- a chunk ---- */

/* Gives each kind of a token a place, and counts its allocations. */
static void find_kinds(struct ordinals *r, struct ordinals_scratch *scratch, const struct mst_chunk *chunk)
{
	r->n_kinds = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		uint32_t *const place = &scratch->place_of[token->kind];

		if (!*place) {
			r->kinds[r->n_kinds++] = (struct ordinals_kind){ .kind = token->kind };
			*place = r->n_kinds;
		}
		r->place_of[i] = *place - 1;
		if (token->role == MST_ALLOC)
			r->kinds[*place - 1].n += token->count;
	}
	for (uint32_t i = 0; i < r->n_kinds; i++) {
		assert(scratch->place_of[r->kinds[i].kind] == i + 1);
		scratch->place_of[r->kinds[i].kind] = 0;
	}
}

int ordinals_begin(struct ordinals *r, struct ordinals_scratch *scratch, const struct mst_chunk *chunk,
		   uint32_t n_kinds, uint32_t n_named)
{
	uint32_t n_allocs = 0;

	if (!room_for_tokens(r, chunk->n_tokens) || !room_for_kinds(scratch, n_kinds))
		return MST_ERR_NOMEM;
	find_kinds(r, scratch, chunk);
	for (uint32_t i = 0; i < r->n_kinds; i++) {
		struct ordinals_kind *kind = &r->kinds[i];

		kind->first = n_allocs;
		n_allocs += kind->n;
		kind->n = 0;
	}
	r->n_older = 0;
	return room_for_records(r, n_allocs, n_named) ? 0 : MST_ERR_NOMEM;
}

/* The number of the chunk's allocation that gave the block; with ORDINALS_GONE if it was freed already. */
static inline uint32_t find_block(struct ordinals *r, const struct ordinals_kind *kind, uint64_t age,
				  bool goes)
{
	uint32_t *const alloc = &r->allocs[kind->first + kind->n - age];

	assert(age > 0 && age <= kind->n);
	const uint32_t found = *alloc;

	*alloc |= goes ? ORDINALS_GONE : 0;
	return found;
}

static void add_up(const uint64_t *differences, uint32_t n, uint64_t *ages)
{
	uint64_t last = 1;

	for (uint32_t i = 0; i < n; i++) {
		ages[i] = last + (uint64_t)wire_unzigzag(differences[i]);
		last = ages[i] ? ages[i] : last;
	}
}

/* Without a branch on the role, which cannot be predicted: an age that is no record's is written over by the next. */
void ordinals_ages(const struct mst_chunk *chunk, const uint64_t *differences, uint32_t n, bool in_a_row,
		   struct ordinals_age *by_token, uint64_t *ages)
{
	const uint16_t *record = chunk->records;

	if (in_a_row) {
		add_up(differences, n, ages);
		return;
	}
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		by_token[i] = (struct ordinals_age){ 1, ordinals_has_entry(chunk->tokens[i].role) };
	for (uint32_t i = 0; i < n;) {
		struct ordinals_age *const token = &by_token[*record++];
		const uint64_t age = token->last + (uint64_t)wire_unzigzag(differences[i]);

		assert(record <= chunk->records + chunk->n_records);
		ages[i] = age;
		token->last = age ? age : token->last;
		i += (uint32_t)token->named;
	}
}

void ordinals_follow(struct ordinals *r, const struct mst_chunk *chunk, const uint64_t *ages, uint64_t *freed)
{
	uint32_t n_allocs = 0, n = 0;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint32_t number = chunk->records[i], role = chunk->tokens[number].role;
		struct ordinals_kind *const kind = &r->kinds[r->place_of[number]];

		assert(n_allocs < ORDINALS_GONE);
		if (role == MST_ALLOC)
			r->allocs[kind->first + kind->n++] = n_allocs++;
		if (!ordinals_has_entry(role))
			continue;
		const uint64_t age = ages[n];
		freed[n] = UINT64_MAX;
		if (age > kind->n) {
			assert(r->n_older < r->room_older);
			r->carried_over[r->n_older++] = (struct ordinals_older){ .entry = n,
										 .kind = kind->kind,
										 .back = age - kind->n,
										 .goes = role != MST_KEEP };
		} else if (age) {
			const uint32_t alloc = find_block(r, kind, age, role != MST_KEEP);

			if (!(alloc & ORDINALS_GONE))
				freed[n] = chunk->first_alloc + alloc;
		}
		n++;
	}
}
