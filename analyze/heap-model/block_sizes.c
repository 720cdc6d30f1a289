/* SPDX-License-Identifier: MIT */
#include "block_sizes.h"

#include <stdlib.h>

#include "array.h"
#include "block_map.h"
#include "effect.h"
#include "index_map.h"
#include "valgrind_arena.h"

#define NO_BLOCK UINT64_MAX

/* What the records of a token do. */
struct use {
	uint64_t bytes; /* what the kind says that the block takes */
	uint64_t size, align;
	uint8_t role;  /* enum mst_role */
	bool is_named; /* they name their block */
	bool is_custom;
};

struct block_sizes {
	struct observer observer;
	const struct settings *settings;
	struct arena *arena;      /* NULL: what a block takes can be told from its kind */
	struct block_map handles; /* live blocks in the arena */
	struct index_map forgotten;
	uint64_t *blocks, *bytes; /* by record of the present chunk */
	uint32_t cap_blocks, cap_bytes;
	uint64_t alloc;        /* the next one */
	const uint64_t *freed; /* of the chunk; what records name in their turn */
	uint32_t named;        /* so many did before the present record */
	struct use *uses;      /* by token of the chunk */
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

/* One that is asked for replaces --alignment, even if it is smaller. */
static uint64_t alignment_of(const struct block_sizes *u, const struct mst_kind *kind)
{
	const bool asked = kind->align_log2 || (kind->op >= MST_OP_MEMALIGN && kind->op <= MST_OP_PVALLOC);

	if (!asked)
		return u->settings->alignment;
	return kind->align_log2 > 63 ? UINT64_MAX : UINT64_C(1) << kind->align_log2;
}

/* Settings and kinds, as a chunk's tokens have them. */
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

/* A block comes into the arena. False: no memory. */
static bool put(struct block_sizes *u, uint32_t i, uint64_t align, const struct use *use)
{
	const uint32_t handle = arena_alloc(u->arena, use->size, align, &u->bytes[i]);

	return handle == ARENA_NONE ? !arena_is_starved(u->arena)
				    : block_map_put(&u->handles, u->blocks[i], handle);
}

static void take(struct block_sizes *u, uint32_t i)
{
	uint32_t handle;

	if (block_map_take(&u->handles, u->blocks[i], &handle))
		u->bytes[i] = arena_free(u->arena, handle);
}

/* A realloc to what the block can hold leaves it where it is. False: no memory. */
static bool move(struct block_sizes *u, uint32_t i, const struct use *new)
{
	uint32_t handle;

	if (!block_map_take(&u->handles, u->blocks[i], &handle))
		return put(u, i + 1, u->settings->alignment, new);
	u->bytes[i] = arena_usable(u->arena, handle);
	if (new->size > u->bytes[i]) {
		if (!put(u, i + 1, u->settings->alignment, new))
			return false;
		arena_free(u->arena, handle);
		return true;
	}
	u->bytes[i + 1] = u->bytes[i];
	return block_map_put(&u->handles, u->blocks[i + 1], handle);
}

/* ---- calls ---- */

/* The record is about that block, and its kind says what it takes. */
static inline void begin_record(struct block_sizes *u, uint32_t i, const struct use *use, uint64_t block)
{
	u->blocks[i] = block;
	u->bytes[i] = use->bytes;
}

/* Record `i` names a block that Massif has forgotten: then so is what the next one makes of it, if it is `resized`. */
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

/* A realloc that failed. */
static bool keep(struct block_sizes *u, uint32_t i)
{
	return !forgets(u->settings) || u->blocks[i] == NO_BLOCK ||
	       index_map_put(&u->forgotten, u->blocks[i], 0);
}

/* Two records that are one call. False: no memory. */
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

/* Whether the trace says which blocks the records are about. */
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
	u->arena = arena_create();
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
	block_map_finish(&u->handles);
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
