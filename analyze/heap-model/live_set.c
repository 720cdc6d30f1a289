/* SPDX-License-Identifier: MIT */
#include "live_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "radix_sort.h"

#define UNKNOWN UINT64_MAX
#define GONE UINT32_MAX

void live_set_finish(struct live_set *set)
{
	block_map_finish(&set->map);
	free(set->items);
	free(set->counts);
	free(set->came);
	*set = (struct live_set){ .n = 0 };
}

/* ---- blocks of known index ---- */

/* False: no memory. */
static bool take_vacant(struct live_set *set, uint32_t *item)
{
	if (set->vacant) {
		*item = set->vacant - 1;
		set->vacant = set->items[*item].kind;
		return true;
	}
	if (!array_reserve(&set->items, set->n_items, &set->cap_items, sizeof(*set->items)))
		return false;
	*item = set->n_items++;
	return true;
}

static void make_vacant(struct live_set *set, uint32_t item)
{
	set->items[item] = (struct liveblock){ .index = UNKNOWN, .kind = set->vacant };
	set->vacant = item + 1;
}

static bool put_known(struct live_set *set, const struct liveblock *block)
{
	uint32_t item;

	if (!take_vacant(set, &item))
		return false;
	set->items[item] = *block;
	set->n++;
	return block_map_put(&set->map, block->index, item);
}

bool live_set_take_known(struct live_set *set, uint64_t index)
{
	uint32_t item;

	if (!block_map_take(&set->map, index, &item))
		return false;
	assert(item < set->n_items && set->items[item].index == index);
	assert(set->n > 0);
	make_vacant(set, item);
	set->n--;
	return true;
}

/* Copies them to list[set->n], in the order of their indices. False: no memory. */
static bool list_known(const struct live_set *set, struct liveblock *list)
{
	struct radix_item *order = calloc((size_t)set->n + 1, sizeof(*order));
	uint32_t n = 0;
	bool fine = order != NULL;

	for (uint32_t i = 0; fine && i < set->n_items; i++) {
		if (set->items[i].index != UNKNOWN)
			order[n++] = (struct radix_item){ set->items[i].index, i };
	}
	fine = fine && radix_sort(order, n);
	assert(!fine || n == set->n);
	for (uint32_t i = 0; fine && i < n; i++)
		list[i] = set->items[order[i].number];
	free(order);
	return fine;
}

/* ---- blocks of unknown index ---- */

static bool count(struct live_set *set, uint32_t kind, int64_t change)
{
	if (!array_reserve_zeroed(&set->counts, kind, &set->n_counts, sizeof(*set->counts)))
		return false;
	set->counts[kind] += change;
	return true;
}

/* ---- both ---- */

bool live_set_put(struct live_set *set, const struct liveblock *block)
{
	return block->index == UNKNOWN ? count(set, block->kind, 1) : put_known(set, block);
}

bool live_set_take(struct live_set *set, uint32_t kind, uint64_t index)
{
	return live_set_take_known(set, index) || count(set, kind, -1);
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

/* Entry `i` of the blocks that the chunk's records name goes; `n` blocks of the chunk itself have come. */
static bool lose(struct live_set *set, const struct mst_chunk *chunk, uint32_t kind, uint32_t i, uint32_t n)
{
	const uint64_t index = i < chunk->n_freed ? chunk->freed[i] : UNKNOWN;
	const uint64_t own = index - chunk->first_alloc;

	if (kind == MST_UNKNOWN_KIND)
		return true;
	if (own >= n || set->came[own] == GONE)
		return live_set_take(set, kind, index);
	set->came[own] = GONE;
	return true;
}

/* Puts those of the first `n` blocks of the chunk that are still live into the set. */
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
	if (!array_reserve(&set->came, chunk->n_records, &set->cap_came, sizeof(*set->came)))
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

/* For each free of an unknown block, removes the newest block of its kind from list[n]. Returns how many remain. */
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

/* Live blocks of unknown index. */
static size_t count_unknown(const struct live_set *set)
{
	size_t n = 0;

	for (uint32_t kind = 0; kind < set->n_counts; kind++)
		n += set->counts[kind] > 0 ? (size_t)set->counts[kind] : 0;
	return n;
}

struct liveblock *live_set_list(struct live_set *set, size_t *n)
{
	struct liveblock *list = reallocarray(NULL, set->n + count_unknown(set) + 1, sizeof(*list));

	if (list && list_known(set, list)) {
		*n = settle(set, list, set->n);
		for (uint32_t kind = 0; kind < set->n_counts; kind++) {
			for (; set->counts[kind] > 0; set->counts[kind]--)
				list[(*n)++] = (struct liveblock){ UNKNOWN, UNKNOWN, kind, 0 };
		}
	} else {
		free(list);
		list = NULL;
	}
	live_set_finish(set);
	return list;
}
