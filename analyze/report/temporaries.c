/* SPDX-License-Identifier: MIT */
#include "temporaries.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "identity.h"
#include "index_map.h"
#include "left_out.h"

/* A block is kind << ORDINAL_BITS | ordinal. */
#define ORDINAL_BITS 39u
#define NO_BLOCK UINT64_MAX

struct temporaries {
	struct observer observer;
	bool lacks_identity;
	uint64_t count;
	uint64_t *allocated; /* by kind: blocks so far */
	uint32_t room_allocated;
	/*
	 * By thread: the block that it allocated last; NO_BLOCK: none, it is gone, or a realloc made it. Those of all
	 * threads but the present one are in `others`, which leads back to the thread.
	 */
	uint64_t *last;
	uint32_t room_last;
	struct index_map others;
	uint32_t thread;              /* the present one */
	const struct mst_kind *kinds; /* of the present chunk */
};

/* Makes another thread the present one. False: no memory. */
static bool change_thread(struct temporaries *t, uint32_t thread)
{
	if (thread == t->thread)
		return true;
	const uint32_t before = t->thread;
	t->thread = thread;
	index_map_take(&t->others, t->last[thread], NULL);
	return index_map_put(&t->others, t->last[before], before);
}

/* NO_BLOCK: unknown. */
static inline uint64_t find_block(const struct temporaries *t, uint32_t kind, uint64_t age)
{
	const uint64_t n = t->allocated[kind];
	return age - 1 < n ? (uint64_t)kind << ORDINAL_BITS | (n - age) : NO_BLOCK;
}

/* The block goes. Returns whether it was the last one of another thread than the present one. */
static bool take_others(struct temporaries *t, uint64_t block)
{
	uint64_t thread;
	if (!index_map_take(&t->others, block, &thread))
		return false;
	t->last[thread] = NO_BLOCK;
	return true;
}

/* Accounts for the pair that begins with an OUT record: a realloc, or a free by a call that is recorded. */
static void see_pair(struct temporaries *t, const struct mst_token *out, const struct mst_token *call,
		     uint64_t age)
{
	const uint64_t block = find_block(t, out->kind, age);
	uint64_t *const own = &t->last[t->thread];
	const bool is_own = block == *own && block != NO_BLOCK, temporary = is_own || take_others(t, block);
	if (is_own)
		*own = NO_BLOCK;
	if (call->role == MST_ALLOC) {
		t->allocated[call->kind]++;
		*own = NO_BLOCK;
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
	uint64_t *const own = &t->last[t->thread];
	uint64_t last = *own; /* *own is as old as the last pair */
	for (uint32_t i = from; i < to; i++) {
		const struct mst_token *token = &chunk->tokens[chunk->records[i]];
		if (token->role == MST_ALLOC) {
			last = (uint64_t)token->kind << ORDINAL_BITS | t->allocated[token->kind]++;
		} else if (token->role == MST_FREE) {
			const uint64_t block = find_block(t, token->kind, *ages++);
			const bool temporary = block == last && block != NO_BLOCK;
			t->count += temporary;
			if (temporary)
				last = NO_BLOCK;
			else if (t->others.n)
				t->count += take_others(t, block);
		} else if (token->role == MST_OUT) {
			*own = last;
			see_pair(t, token, &chunk->tokens[chunk->records[++i]], *ages++);
			last = *own;
		} else if (token->role == MST_KEEP) {
			ages++;
		} else if (t->kinds[token->kind].op == LEFT_OUT_OP) {
			last = NO_BLOCK;
		}
	}
	*own = last;
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

static bool reserve(struct temporaries *t, const struct mst_reader *reader)
{
	uint32_t n_kinds, n_threads;
	const uint32_t known = t->room_last;
	t->kinds = mst_reader_kinds(reader, &n_kinds);
	mst_reader_threads(reader, &n_threads);
	if (!array_reserve_zeroed(&t->allocated, n_kinds, &t->room_allocated, sizeof(*t->allocated)) ||
	    !array_reserve_zeroed(&t->last, n_threads, &t->room_last, sizeof(*t->last)))
		return false;
	for (uint32_t i = known; i < t->room_last; i++)
		t->last[i] = NO_BLOCK;
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct temporaries *t = (struct temporaries *)observer;
	const uint64_t *ages = chunk->ages;
	if (!reserve(t, reader))
		return MST_ERR_NOMEM;
	t->lacks_identity |= chunk_lacks_identity(chunk);
	if (chunk->initial)
		count_initial(t, chunk);
	for (uint32_t i = 0; i < chunk->n_runs && !chunk->initial && !t->lacks_identity; i++) {
		if (!change_thread(t, chunk->runs[i].thread))
			return MST_ERR_NOMEM;
		ages = see_records(t, chunk, run_begins(chunk, i), run_begins(chunk, i + 1), ages);
	}
	return 0;
}

struct temporaries *temporaries_create(void)
{
	static const struct observer_impl impl = { .chunk = see_chunk };
	struct temporaries *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS & ~(MST_THREADS | MST_AGES),
	};
	return t;
}

void temporaries_destroy(struct temporaries *t)
{
	if (!t)
		return;
	free(t->allocated);
	free(t->last);
	index_map_finish(&t->others);
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
