/* SPDX-License-Identifier: MIT */
#include "usable.h"

#include <stdlib.h>

#include "arena.h"
#include "effect.h"
#include "handles.h"
#include "indexmap.h"

#define NO_BLOCK UINT64_MAX

struct usable {
	struct observer observer;
	const struct settings *settings;
	struct arena *arena;    /* NULL: what a block takes can be told from its kind */
	struct handles handles; /* live blocks in the arena */
	struct indexmap forgotten;
	/* By record of the present chunk. */
	uint64_t *blocks, *bytes;
	uint32_t n;
	bool has_forgotten;
};

static bool forgets(const struct settings *settings)
{
	return settings->compat != COMPAT_FIXED;
}

bool usable_needed(const struct settings *settings)
{
	return settings->heap && !settings->pages_as_heap &&
	       (settings->usable == USABLE_VALGRIND || forgets(settings));
}

bool usable_serves(const struct usable *u, const struct settings *settings)
{
	return u->settings->usable == settings->usable && u->settings->alignment == settings->alignment &&
	       forgets(u->settings) == forgets(settings);
}

/* ---- one chunk ---- */

static bool reserve(struct usable *u, uint32_t n)
{
	uint64_t *grown;

	if (n <= u->n)
		return true;
	grown = realloc(u->blocks, n * sizeof(*grown));
	if (grown)
		u->blocks = grown;
	grown = grown ? realloc(u->bytes, n * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	u->bytes = grown;
	u->n = n;
	return true;
}

/* Fills `blocks`. False: the trace doesn't say which block a record is about. */
static bool find_blocks(struct usable *u, const struct mst_chunk *chunk)
{
	uint64_t alloc = chunk->first_alloc;
	uint32_t freed = 0;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint32_t role = chunk->symbols[chunk->records[i]].role;

		u->blocks[i] = NO_BLOCK;
		if (role == MST_ALLOC)
			u->blocks[i] = alloc++;
		else if (role != MST_CALL && freed == chunk->n_freed)
			return false;
		else if (role != MST_CALL)
			u->blocks[i] = chunk->freed[freed++];
	}
	return true;
}

/* One that is asked for replaces --alignment, even if it is smaller. */
static uint64_t alignment_of(const struct usable *u, const struct mst_kind *kind)
{
	const bool asked = kind->align_log2 || (kind->op >= MST_OP_MEMALIGN && kind->op <= MST_OP_PVALLOC);

	if (!asked)
		return u->settings->alignment;
	return kind->align_log2 > 63 ? UINT64_MAX : UINT64_C(1) << kind->align_log2;
}

/* A block comes into the arena. False: no memory. */
static bool put(struct usable *u, uint32_t i, const struct mst_kind *kind)
{
	const uint32_t handle = arena_alloc(u->arena, kind->size, alignment_of(u, kind), &u->bytes[i]);

	if (handle != ARENA_NONE)
		return handles_put(&u->handles, u->blocks[i], handle);
	u->bytes[i] = effect_usable(u->settings, kind);
	return true;
}

static void take(struct usable *u, uint32_t i, const struct mst_kind *kind)
{
	uint32_t handle;

	u->bytes[i] = effect_usable(u->settings, kind);
	if (!handles_take(&u->handles, u->blocks[i], &handle))
		return;
	u->bytes[i] = arena_usable(u->arena, handle);
	arena_free(u->arena, handle);
}

/* A realloc to what the block can hold leaves it where it is. False: no memory. */
static bool move(struct usable *u, uint32_t i, const struct mst_kind *old, const struct mst_kind *new)
{
	const struct mst_kind moved = { .size = new->size, .cap = new->cap };
	uint32_t handle;

	if (!handles_find(&u->handles, u->blocks[i], &handle)) {
		take(u, i, old);
		return put(u, i + 1, &moved);
	}
	u->bytes[i] = arena_usable(u->arena, handle);
	if (new->size > u->bytes[i]) {
		if (!put(u, i + 1, &moved))
			return false;
		take(u, i, old);
		return true;
	}
	u->bytes[i + 1] = u->bytes[i];
	handles_take(&u->handles, u->blocks[i], &handle);
	return handles_put(&u->handles, u->blocks[i + 1], handle);
}

/* The records at `i` are about a block that Massif has forgotten: then so is what they make of it. */
static bool is_forgotten(struct usable *u, uint32_t i, bool resized)
{
	if (u->forgotten.n == 0 || !indexmap_take(&u->forgotten, u->blocks[i], NULL))
		return false;
	u->has_forgotten = true;
	u->blocks[i] = USABLE_FORGOTTEN;
	if (resized && indexmap_put(&u->forgotten, u->blocks[i + 1], 0))
		u->blocks[i + 1] = USABLE_FORGOTTEN;
	return true;
}

static const struct mst_symbol *symbol_at(const struct mst_chunk *chunk, uint32_t i)
{
	return &chunk->symbols[chunk->records[i]];
}

/* The call whose first record is `i`, of two if it is a `pair`. False: no memory. */
static bool run_call(struct usable *u, const struct mst_chunk *chunk, const struct mst_kind *kinds,
		     uint32_t i, bool pair)
{
	const struct mst_symbol *first = symbol_at(chunk, i), *last = symbol_at(chunk, i + pair);
	const struct mst_kind *kind = &kinds[first->kind], *new = &kinds[last->kind];
	const bool comes = last->role == MST_ALLOC;

	u->bytes[i] = effect_usable(u->settings, kind);
	u->bytes[i + pair] = effect_usable(u->settings, new);
	if (first->role == MST_KEEP)
		return !forgets(u->settings) || u->blocks[i] == NO_BLOCK ||
		       indexmap_put(&u->forgotten, u->blocks[i], 0);
	if (is_forgotten(u, i, pair && comes) || !u->arena || first->role == MST_CALL ||
	    (comes && mst_op_is_custom(new->op)))
		return true;
	if (pair && comes)
		return move(u, i, kind, new);
	if (comes)
		return put(u, i, kind);
	take(u, i, kind);
	return true;
}

static int usable_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct usable *u = (struct usable *)observer;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (!reserve(u, chunk->n_records))
		return MST_ERR_NOMEM;
	if (!find_blocks(u, chunk))
		return MST_ERR_IDENTITY;
	u->has_forgotten = false;
	for (uint32_t i = 0, n; i < chunk->n_records; i += n) {
		const uint32_t role = symbol_at(chunk, i)->role;

		n = role == MST_OUT || role == MST_KEEP ? 2 : 1;
		if (!run_call(u, chunk, kinds, i, n == 2))
			return MST_ERR_NOMEM;
	}
	return 0;
}

/* ---- life ---- */

static const struct observer_impl usable_impl = { .chunk = usable_chunk };

struct usable *usable_create(const struct settings *settings)
{
	struct usable *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->observer.impl = &usable_impl;
	u->settings = settings;
	handles_init(&u->handles);
	if (settings->usable != USABLE_VALGRIND)
		return u;
	u->arena = arena_create();
	if (u->arena)
		return u;
	usable_destroy(u);
	return NULL;
}

void usable_destroy(struct usable *u)
{
	if (!u)
		return;
	arena_destroy(u->arena);
	handles_finish(&u->handles);
	indexmap_finish(&u->forgotten);
	free(u->blocks);
	free(u->bytes);
	free(u);
}

struct observer *usable_observer(struct usable *u)
{
	return &u->observer;
}

const uint64_t *usable_blocks(const struct usable *u)
{
	return u->blocks;
}

const uint64_t *usable_bytes(const struct usable *u)
{
	return u->bytes;
}

bool usable_has_forgotten(const struct usable *u)
{
	return u->has_forgotten;
}
