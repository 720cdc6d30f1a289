/* SPDX-License-Identifier: MIT */
#include "block_sizes.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "block_map.h"
#include "effect.h"
#include "index_map.h"
#include "valgrind_arena.h"

#define NO_BLOCK UINT64_MAX

/* The effect of the records of a token. */
struct use {
	uint64_t bytes; /* that the block takes, by its kind alone */
	uint64_t size, align;
	uint8_t role;  /* enum mst_role */
	bool is_named; /* the record names its block */
	bool is_custom;
};

struct block_sizes {
	struct observer observer;
	const struct settings *settings;
	struct arena *arena;        /* NULL: the kind alone says what a block takes */
	struct block_map live;      /* ids of live blocks in the arena */
	struct index_map forgotten; /* blocks, which Massif has forgotten */
	uint64_t *blocks, *bytes;   /* by record of the present chunk */
	uint32_t cap_blocks, cap_bytes;
	uint64_t alloc; /* index of the next allocation */
	const uint64_t
		*freed;   /* of the chunk: the blocks that its records name, in the order of the records */
	uint32_t named;   /* records before the present one that name a block */
	struct use *uses; /* by token of the chunk */
	uint32_t cap_uses;
	bool has_forgotten;
};

static bool forgets(const struct settings *settings)
{
	return settings->compat != COMPAT_FIXED;
}

bool block_sizes_needed(const struct settings *settings)
{
	return settings->heap && !settings->pages_as_heap &&
	       (settings->usable == USABLE_VALGRIND || forgets(settings));
}

bool block_sizes_serves(const struct block_sizes *u, const struct settings *settings)
{
	return u->settings->usable == settings->usable && u->settings->alignment == settings->alignment &&
	       forgets(u->settings) == forgets(settings);
}

/* ---- one chunk ---- */

static bool reserve(struct block_sizes *u, uint32_t n, uint32_t n_uses)
{
	return array_reserve(&u->blocks, n, &u->cap_blocks, sizeof(*u->blocks)) &&
	       array_reserve(&u->bytes, n, &u->cap_bytes, sizeof(*u->bytes)) &&
	       array_reserve(&u->uses, n_uses, &u->cap_uses, sizeof(*u->uses));
}

/* An alignment that the call asks for replaces --alignment, even if it is smaller. */
static uint64_t alignment_of(const struct block_sizes *u, const struct mst_kind *kind)
{
	const bool asked = kind->align_log2 || (kind->op >= MST_OP_MEMALIGN && kind->op <= MST_OP_PVALLOC);

	if (!asked)
		return u->settings->alignment;
	return kind->align_log2 > 63 ? UINT64_MAX : UINT64_C(1) << kind->align_log2;
}

/* Combines settings and kinds, by token. */
static void find_uses(struct block_sizes *u, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	for (uint32_t s = 0; s < chunk->n_tokens; s++) {
		const struct mst_token *token = &chunk->tokens[s];
		const struct mst_kind *kind = &kinds[token->kind];

		u->uses[s] = (struct use){
			.bytes = effect_usable(u->settings, kind),
			.size = kind->size,
			.align = alignment_of(u, kind),
			.role = (uint8_t)token->role,
			.is_named = token->role != MST_ALLOC && token->role != MST_CALL,
			.is_custom = mst_op_is_custom(kind->op),
		};
	}
}

/* ---- blocks of the arena ---- */

/* Allocates the block of record `i`. False: no memory. */
static bool put(struct block_sizes *u, uint32_t i, uint64_t align, const struct use *use)
{
	const uint32_t id = arena_alloc(u->arena, use->size, align, &u->bytes[i]);

	return id == ARENA_NONE ? !arena_is_starved(u->arena) : block_map_put(&u->live, u->blocks[i], id);
}

/* Frees the block of record `i`, if it is in the arena. */
static void take(struct block_sizes *u, uint32_t i)
{
	uint32_t id;

	if (block_map_take(&u->live, u->blocks[i], &id))
		u->bytes[i] = arena_free(u->arena, id);
}

/* Reallocates: the block stays in place if it can hold the new size. False: no memory. */
static bool move(struct block_sizes *u, uint32_t i, const struct use *resized)
{
	uint32_t id;

	if (!block_map_take(&u->live, u->blocks[i], &id))
		return put(u, i + 1, u->settings->alignment, resized);
	u->bytes[i] = arena_usable(u->arena, id);
	if (resized->size > u->bytes[i]) {
		if (!put(u, i + 1, u->settings->alignment, resized))
			return false;
		arena_free(u->arena, id);
		return true;
	}
	u->bytes[i + 1] = u->bytes[i];
	return block_map_put(&u->live, u->blocks[i + 1], id);
}

/* ---- calls ---- */

/* Sets the record's block, and the bytes that it takes by its kind. */
static inline void begin_record(struct block_sizes *u, uint32_t i, const struct use *use, uint64_t block)
{
	assert(i < u->cap_blocks && i < u->cap_bytes);
	u->blocks[i] = block;
	u->bytes[i] = use->bytes;
}

/* True: Massif has forgotten the block of record `i`; and if it is `resized`, that of the next record, too. */
static bool is_forgotten(struct block_sizes *u, uint32_t i, bool resized)
{
	if (u->forgotten.n == 0 || !index_map_take(&u->forgotten, u->blocks[i], NULL))
		return false;
	u->has_forgotten = true;
	u->blocks[i] = BLOCK_SIZES_FORGOTTEN;
	if (resized && index_map_put(&u->forgotten, u->blocks[i + 1], 0))
		u->blocks[i + 1] = BLOCK_SIZES_FORGOTTEN;
	return true;
}

static inline bool run_alloc(struct block_sizes *u, uint32_t i, const struct use *use)
{
	begin_record(u, i, use, u->alloc++);
	return !u->arena || use->is_custom || put(u, i, use->align, use);
}

static inline void run_free(struct block_sizes *u, uint32_t i, const struct use *use)
{
	begin_record(u, i, use, u->freed[u->named]);
	if (!is_forgotten(u, i, false) && u->arena)
		take(u, i);
	u->named++;
}

/* A realloc failed: Massif forgets the block, the allocator keeps it. False: no memory. */
static bool keep(struct block_sizes *u, uint32_t i)
{
	return !forgets(u->settings) || u->blocks[i] == NO_BLOCK ||
	       index_map_put(&u->forgotten, u->blocks[i], 0);
}

/* Two records of one call. False: no memory. */
static bool run_pair(struct block_sizes *u, uint32_t i, const struct use *first, const struct use *last)
{
	const bool comes = last->role == MST_ALLOC;
	bool done = true;

	begin_record(u, i, first, u->freed[u->named]);
	begin_record(u, i + 1, last, comes ? u->alloc++ : NO_BLOCK);
	if (first->role == MST_KEEP)
		done = keep(u, i);
	else if (is_forgotten(u, i, comes) || !u->arena || (comes && last->is_custom))
		done = true;
	else if (comes)
		done = move(u, i, last);
	else
		take(u, i);
	u->named++;
	return done;
}

/* True: the trace says which blocks its records name. */
static bool has_identity(const struct block_sizes *u, const struct mst_chunk *chunk)
{
	uint64_t named = 0;

	for (uint32_t s = 0; s < chunk->n_tokens; s++)
		named += u->uses[s].is_named ? chunk->tokens[s].count : 0;
	return named <= chunk->n_freed;
}

/* False: no memory. */
static bool run_calls(struct block_sizes *u, const struct mst_chunk *chunk)
{
	bool done = true;

	for (uint32_t i = 0; i < chunk->n_records && done; i++) {
		const struct use *use = &u->uses[chunk->records[i]];

		assert(chunk->records[i] < chunk->n_tokens && u->named <= chunk->n_freed);

		if (use->role == MST_ALLOC) {
			done = run_alloc(u, i, use);
		} else if (use->role == MST_FREE) {
			run_free(u, i, use);
		} else if (use->role == MST_CALL) {
			begin_record(u, i, use, NO_BLOCK);
		} else {
			done = run_pair(u, i, use, &u->uses[chunk->records[i + 1]]);
			i++;
		}
	}
	return done;
}

static int block_sizes_chunk(struct observer *observer, const struct mst_reader *reader,
			     const struct mst_chunk *chunk)
{
	struct block_sizes *u = (struct block_sizes *)observer;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (!reserve(u, chunk->n_records, chunk->n_tokens))
		return MST_ERR_NOMEM;
	find_uses(u, chunk, kinds);
	if (!has_identity(u, chunk))
		return MST_ERR_IDENTITY;
	u->alloc = chunk->first_alloc;
	u->freed = chunk->freed;
	u->named = 0;
	u->has_forgotten = false;
	return run_calls(u, chunk) ? 0 : MST_ERR_NOMEM;
}

/* ---- life ---- */

static const struct observer_impl block_sizes_impl = { .chunk = block_sizes_chunk };

struct block_sizes *block_sizes_create(const struct settings *settings)
{
	struct block_sizes *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->observer.impl = &block_sizes_impl;
	u->settings = settings;
	if (settings->usable != USABLE_VALGRIND)
		return u;
	u->arena = arena_create(ARENA_FIRST);
	if (u->arena)
		return u;
	block_sizes_destroy(u);
	return NULL;
}

void block_sizes_destroy(struct block_sizes *u)
{
	if (!u)
		return;
	arena_destroy(u->arena);
	block_map_finish(&u->live);
	index_map_finish(&u->forgotten);
	free(u->blocks);
	free(u->bytes);
	free(u->uses);
	free(u);
}

struct observer *block_sizes_observer(struct block_sizes *u)
{
	return &u->observer;
}

const uint64_t *block_sizes_blocks(const struct block_sizes *u)
{
	return u->blocks;
}

const uint64_t *block_sizes_bytes(const struct block_sizes *u)
{
	return u->bytes;
}

bool block_sizes_has_forgotten(const struct block_sizes *u)
{
	return u->has_forgotten;
}
