/* SPDX-License-Identifier: MIT */
#include "live_set.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define UNKNOWN UINT64_MAX
#define GONE UINT32_MAX
#define AHEAD 8u /* frees that are looked up soon */

void live_set_finish(struct live_set *set)
{
	cohorts_finish(&set->known);
	free(set->counts);
	free(set->came);
	*set = (struct live_set){ 0 };
}

static bool count(struct live_set *set, uint32_t kind, int64_t change)
{
	const uint32_t n = kind + kind / 2 + 64;
	int64_t *counts;

	if (kind >= set->n_counts) {
		counts = reallocarray(set->counts, n, sizeof(*counts));
		if (!counts)
			return false;
		memset(counts + set->n_counts, 0, (n - set->n_counts) * sizeof(*counts));
		set->counts = counts;
		set->n_counts = n;
	}
	set->counts[kind] += change;
	return true;
}

bool live_set_put(struct live_set *set, const struct liveblock *block)
{
	return block->index == UNKNOWN ? count(set, block->kind, 1) : cohorts_put(&set->known, block);
}

bool live_set_take(struct live_set *set, uint32_t kind, uint64_t index)
{
	return cohorts_take(&set->known, index) || count(set, kind, -1);
}

/* ---- chunk by chunk ---- */

static bool follow_counts(struct live_set *set, const struct mst_chunk *chunk)
{
	bool fine = true;

	for (uint32_t i = 0; i < chunk->n_tokens && fine; i++) {
		const struct mst_token *s = &chunk->tokens[i];

		if (s->role == MST_ALLOC)
			fine = count(set, s->kind, s->count);
		else if ((s->role == MST_FREE || s->role == MST_OUT) && s->kind != MST_UNKNOWN_KIND)
			fine = count(set, s->kind, -(int64_t)s->count);
	}
	return fine;
}

static bool room_for_chunk(struct live_set *set, const struct mst_chunk *chunk)
{
	uint32_t *came;

	if (chunk->n_records <= set->cap_came)
		return true;
	came = malloc(chunk->n_records * sizeof(*came));
	if (!came)
		return false;
	free(set->came);
	set->came = came;
	set->cap_came = chunk->n_records;
	return true;
}

/* The block of entry `i` of those that the chunk's records name goes; `n` of its own have come. */
static bool lose(struct live_set *set, const struct mst_chunk *chunk, uint32_t kind, uint32_t i, uint32_t n)
{
	const uint64_t index = i < chunk->n_freed ? chunk->freed[i] : UNKNOWN;
	const uint64_t own = index - chunk->first_alloc;

	if (i + AHEAD < chunk->n_freed && chunk->freed[i + AHEAD] < chunk->first_alloc)
		cohorts_foresee(&set->known, chunk->freed[i + AHEAD]);
	if (kind == MST_UNKNOWN_KIND)
		return true;
	if (own >= n || set->came[own] == GONE)
		return live_set_take(set, kind, index);
	set->came[own] = GONE;
	return true;
}

/* The first `n` blocks of the chunk that are still there are of the set. */
static bool keep(struct live_set *set, const struct mst_chunk *chunk, uint32_t n)
{
	uint32_t stamp = 0, run = 0;
	bool fine = true;

	for (uint32_t i = 0; i < n && fine; i++) {
		const uint32_t record = set->came[i];
		uint32_t call = record;

		if (record == GONE)
			continue;
		if (record > 0 && chunk->tokens[chunk->records[record - 1]].role == MST_OUT)
			call--;
		while (stamp + 1 < chunk->n_stamps && chunk->stamps[stamp + 1].record <= call)
			stamp++;
		while (run + 1 < chunk->n_runs && chunk->runs[run + 1].record <= call)
			run++;
		fine = live_set_put(set, &(struct liveblock){
						 .index = chunk->first_alloc + i,
						 .time = chunk->stamps[stamp].time,
						 .kind = chunk->tokens[chunk->records[record]].kind,
						 .thread = chunk->runs[run].thread,
					 });
	}
	return fine;
}

bool live_set_follow(struct live_set *set, const struct mst_chunk *chunk, bool identity)
{
	uint32_t n = 0, named = 0;
	bool fine = true;

	if (!identity)
		return follow_counts(set, chunk);
	if (!room_for_chunk(set, chunk))
		return false;
	for (uint32_t i = 0; i < chunk->n_records && fine; i++) {
		const struct mst_token *s = &chunk->tokens[chunk->records[i]];

		if (s->role == MST_ALLOC)
			set->came[n++] = i;
		else if (s->role == MST_FREE || s->role == MST_OUT)
			fine = lose(set, chunk, s->kind, named++, n);
		else
			named += s->role == MST_KEEP;
	}
	return fine && keep(set, chunk, n);
}

/* ---- the whole ---- */

/* Takes the newest of list[n] out of which some frees can have been that didn't say of which; how many are left. */
static size_t settle(struct live_set *set, struct liveblock *list, size_t n)
{
	size_t kept = n;

	for (size_t i = n; i-- > 0;) {
		const uint32_t kind = list[i].kind;

		if (kind < set->n_counts && set->counts[kind] < 0)
			set->counts[kind]++;
		else
			list[--kept] = list[i];
	}
	if (n > kept)
		memmove(list, list + kept, (n - kept) * sizeof(*list));
	return n - kept;
}

/* Blocks of which more came than went, their indices unknown. */
static size_t count_unknown(const struct live_set *set)
{
	size_t n = 0;

	for (uint32_t kind = 0; kind < set->n_counts; kind++)
		n += set->counts[kind] > 0 ? (size_t)set->counts[kind] : 0;
	return n;
}

struct liveblock *live_set_list(struct live_set *set, size_t *n)
{
	struct liveblock *list = reallocarray(NULL, set->known.n + count_unknown(set) + 1, sizeof(*list));

	if (list) {
		cohorts_list(&set->known, list);
		*n = settle(set, list, set->known.n);
		for (uint32_t kind = 0; kind < set->n_counts; kind++) {
			for (; set->counts[kind] > 0; set->counts[kind]--)
				list[(*n)++] = (struct liveblock){ UNKNOWN, UNKNOWN, kind, 0 };
		}
	}
	live_set_finish(set);
	return list;
}
