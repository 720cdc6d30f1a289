/* SPDX-License-Identifier: MIT */
#include "temporaries.h"

#include <stdlib.h>

#include "array.h"
#include "identity.h"
#include "latest.h"
#include "left_out.h"

/* A block is kind << ORDINAL_BITS | ordinal. */
#define ORDINAL_BITS 39u

struct temporaries {
	struct observer observer;
	bool by_sums; /* chunks say how many; nothing below is used then */
	bool lacks_identity;
	uint64_t count;
	uint64_t *allocated; /* by kind: blocks so far */
	uint32_t room_allocated;
	struct latest latest;         /* the last block of each thread, unless a realloc gave it */
	const struct mst_kind *kinds; /* of the present chunk */
};

/* LATEST_NONE: unknown. */
static inline uint64_t find_block(const struct temporaries *t, uint32_t kind, uint64_t age)
{
	const uint64_t n = t->allocated[kind];
	return age - 1 < n ? (uint64_t)kind << ORDINAL_BITS | (n - age) : LATEST_NONE;
}

/* Accounts for the pair that begins with an OUT record: a realloc, or a free by a call that is recorded. */
static void see_pair(struct temporaries *t, const struct mst_token *out, const struct mst_token *call,
		     uint64_t age)
{
	const bool temporary = latest_take(&t->latest, find_block(t, out->kind, age));
	if (call->role == MST_ALLOC) {
		t->allocated[call->kind]++;
		latest_set(&t->latest, LATEST_NONE);
	} else {
		t->count += temporary;
	}
}

/*
 * Accounts for the records [from, to) of the present thread. `ages`: of the first that names a block. Returns those
 * that follow.
 */
static const uint64_t *see_records(struct temporaries *t, const struct mst_chunk *chunk, uint32_t from,
				   uint32_t to, const uint64_t *ages)
{
	for (uint32_t i = from; i < to; i++) {
		const struct mst_token *token = &chunk->tokens[chunk->records[i]];
		if (token->role == MST_ALLOC)
			latest_set(&t->latest,
				   (uint64_t)token->kind << ORDINAL_BITS | t->allocated[token->kind]++);
		else if (token->role == MST_FREE)
			t->count += latest_take(&t->latest, find_block(t, token->kind, *ages++));
		else if (token->role == MST_OUT)
			see_pair(t, token, &chunk->tokens[chunk->records[++i]], *ages++);
		else if (token->role == MST_KEEP)
			ages++;
		else if (t->kinds[token->kind].op == LEFT_OUT_OP)
			latest_set(&t->latest, LATEST_NONE);
	}
	return ages;
}

/* A pair belongs to the thread of its first record. */
static uint32_t run_begins(const struct mst_chunk *chunk, uint32_t run)
{
	const uint32_t record = run < chunk->n_runs ? chunk->runs[run].record : chunk->n_records;
	if (record == 0 || record == chunk->n_records)
		return record;
	const unsigned role = chunk->tokens[chunk->records[record - 1]].role;
	return record + (role == MST_OUT || role == MST_KEEP);
}

/* Blocks of the initial state have ordinals. What their threads allocated after them isn't known. */
static void count_initial(struct temporaries *t, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		if (chunk->tokens[i].role == MST_ALLOC)
			t->allocated[chunk->tokens[i].kind] += chunk->tokens[i].count;
	}
}

static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	(void)reader;
	(void)chunk;
	return ((struct temporaries *)observer)->by_sums;
}

static int see_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	(void)reader;
	((struct temporaries *)observer)->count += chunk->temporary;
	return 0;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct temporaries *t = (struct temporaries *)observer;
	const uint64_t *ages = chunk->ages;
	uint32_t n_kinds;
	t->kinds = mst_reader_kinds(reader, &n_kinds);
	if (!array_reserve_zeroed(&t->allocated, n_kinds, &t->room_allocated, sizeof(*t->allocated)))
		return MST_ERR_NOMEM;
	t->lacks_identity |= chunk_lacks_identity(chunk);
	if (chunk->initial)
		count_initial(t, chunk);
	for (uint32_t i = 0; i < chunk->n_runs && !chunk->initial && !t->lacks_identity; i++) {
		if (!latest_switch(&t->latest, chunk->runs[i].thread))
			return MST_ERR_NOMEM;
		ages = see_records(t, chunk, run_begins(chunk, i), run_begins(chunk, i + 1), ages);
	}
	return 0;
}

struct temporaries *temporaries_create(const struct mst_file_info *info)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.sums_suffice = sums_suffice,
		.sums = see_sums,
	};
	struct temporaries *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS & ~(info->temporary ? 0 : MST_THREADS | MST_AGES),
	};
	t->by_sums = info->temporary;
	t->latest = LATEST_EMPTY;
	return t;
}

void temporaries_destroy(struct temporaries *t)
{
	if (!t)
		return;
	free(t->allocated);
	latest_finish(&t->latest);
	free(t);
}

struct observer *temporaries_observer(struct temporaries *t)
{
	return &t->observer;
}

bool temporaries_count(const struct temporaries *t, uint64_t *count)
{
	*count = t->count;
	return !t->lacks_identity;
}
