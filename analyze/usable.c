/* SPDX-License-Identifier: MIT */
#include "usable.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "effect.h"
#include "handles.h"
#include "indexmap.h"

#define NO_BLOCK UINT64_MAX

/* Records that are prepared at once, and how far ahead. */
enum { BATCH = 8, AHEAD = (4 + ARENA_REACH) * BATCH };

/* What the records of a symbol do. */
struct use {
	uint64_t bytes; /* what the kind says that the block takes */
	uint64_t size, align;
	uint8_t role;  /* enum mst_role */
	bool is_named; /* they name their block */
	bool is_custom;
};

/* Blocks of the arena that go soon, in turn, and how many of them it has been told about, see arena.h. */
struct going {
	uint32_t *numbers;
	uint32_t taken, fetched, beside;
	struct arena_reach *reaches;
	uint32_t reached[ARENA_REACH + 1]; /* so many by 0 and more steps */
};

struct usable {
	struct observer observer;
	const struct settings *settings;
	struct arena *arena;    /* NULL: what a block takes can be told from its kind */
	struct handles handles; /* live blocks in the arena */
	struct indexmap forgotten;
	uint64_t *blocks, *bytes; /* by record of the present chunk */
	uint32_t *numbers;        /* by record that names its block, ARENA_NONE: not known yet */
	uint32_t named;           /* so many were before the present record */
	uint32_t n;
	struct going going;
	struct use *uses; /* by symbol of the chunk */
	uint32_t n_uses;
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

static bool grow(void *array, size_t n, size_t size)
{
	void **place = array, *grown = reallocarray(*place, n, size);

	if (grown)
		*place = grown;
	return grown;
}

static bool reserve(struct usable *u, uint32_t n, uint32_t n_uses)
{
	if (n > u->n) {
		if (!grow(&u->blocks, n, sizeof(*u->blocks)) || !grow(&u->bytes, n, sizeof(*u->bytes)) ||
		    !grow(&u->numbers, n, sizeof(*u->numbers)) ||
		    !grow(&u->going.numbers, n + 1, sizeof(*u->going.numbers)) ||
		    !grow(&u->going.reaches, 2 * (size_t)n + 1, sizeof(*u->going.reaches)))
			return false;
		u->n = n;
	}
	if (n_uses > u->n_uses) {
		if (!grow(&u->uses, n_uses, sizeof(*u->uses)))
			return false;
		u->n_uses = n_uses;
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

/* Settings and kinds, as a chunk's symbols have them. */
static void find_uses(struct usable *u, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	for (uint32_t s = 0; s < chunk->n_symbols; s++) {
		const struct mst_symbol *symbol = &chunk->symbols[s];
		const struct mst_kind *kind = &kinds[symbol->kind];

		u->uses[s] = (struct use){
			.bytes = effect_usable(u->settings, kind),
			.size = kind->size,
			.align = alignment_of(u, kind),
			.role = (uint8_t)symbol->role,
			.is_named = symbol->role != MST_ALLOC && symbol->role != MST_CALL,
			.is_custom = mst_op_is_custom(kind->op),
		};
	}
}

/* ---- blocks of the arena ---- */

/* A block comes into the arena. False: no memory. */
static bool put(struct usable *u, uint32_t i, uint64_t align, const struct use *use)
{
	const uint32_t handle = arena_alloc(u->arena, use->size, align, &u->bytes[i]);

	if (handle != ARENA_NONE)
		return handles_put(&u->handles, u->blocks[i], handle);
	u->bytes[i] = use->bytes;
	return true;
}

/* The handle of the block that goes with record `i`, the next named one, which has been taken out if it was there in time. */
static bool find_handle(struct usable *u, uint32_t i)
{
	return u->numbers[u->named] != ARENA_NONE ||
	       handles_take(&u->handles, u->blocks[i], &u->numbers[u->named]);
}

static void take(struct usable *u, uint32_t i)
{
	if (!find_handle(u, i))
		return;
	u->bytes[i] = arena_usable(u->arena, u->numbers[u->named]);
	arena_free(u->arena, u->numbers[u->named]);
}

/* A realloc to what the block can hold leaves it where it is. False: no memory. */
static bool move(struct usable *u, uint32_t i, const struct use *new)
{
	if (!find_handle(u, i))
		return put(u, i + 1, u->settings->alignment, new);
	u->bytes[i] = arena_usable(u->arena, u->numbers[u->named]);
	if (new->size > u->bytes[i]) {
		if (!put(u, i + 1, u->settings->alignment, new))
			return false;
		arena_free(u->arena, u->numbers[u->named]);
		return true;
	}
	u->bytes[i + 1] = u->bytes[i];
	return handles_put(&u->handles, u->blocks[i + 1], u->numbers[u->named]);
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

/* ---- calls ---- */

/* The call whose first record is `i`, of two if it is a `pair`. False: no memory. */
static inline bool run_call(struct usable *u, uint32_t i, const struct use *first, const struct use *last,
			    bool pair)
{
	const bool comes = last->role == MST_ALLOC;

	u->bytes[i] = first->bytes;
	u->bytes[i + pair] = last->bytes;
	if (first->role == MST_KEEP && u->numbers[u->named] != ARENA_NONE &&
	    !handles_put(&u->handles, u->blocks[i], u->numbers[u->named]))
		return false;
	if (first->role == MST_KEEP)
		return !forgets(u->settings) || u->blocks[i] == NO_BLOCK ||
		       indexmap_put(&u->forgotten, u->blocks[i], 0);
	if (is_forgotten(u, i, pair && comes) || !u->arena || first->role == MST_CALL ||
	    (comes && last->is_custom))
		return true;
	if (pair && comes)
		return move(u, i, last);
	if (comes)
		return put(u, i, first->align, first);
	take(u, i);
	return true;
}

/*
 * Fills `blocks`. False: the trace doesn't say which block a record is about. Which kind of record comes can't be
 * predicted: no branches on it.
 */
static bool find_blocks(struct usable *u, const struct mst_chunk *chunk)
{
	static const uint64_t nothing = NO_BLOCK;
	const uint64_t *freed = chunk->n_freed ? chunk->freed : &nothing;
	uint64_t alloc = chunk->first_alloc;
	uint32_t left = chunk->n_freed;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const struct use *use = &u->uses[chunk->records[i]];
		const bool comes = use->role == MST_ALLOC, named = use->is_named;
		const uint64_t *source = comes ? &alloc : freed;

		if (__builtin_expect(named && left == 0, 0))
			return false;
		u->blocks[i] = __builtin_expect(comes || named, 1) ? *source : NO_BLOCK;
		alloc += comes;
		freed += named;
		left -= named;
	}
	return true;
}

static void going_begin(struct going *g)
{
	*g = (struct going){ .numbers = g->numbers, .reaches = g->reaches };
}

/*
 * What the records that name a block will look at from the i-th of them on, batch by batch: the farther ahead, the less is
 * known. The handle of a block that goes is taken out as soon as it is there; that of one that comes before it, but after
 * now, isn't yet.
 */
static void foresee(struct usable *u, const uint64_t *named, uint32_t i, uint32_t n)
{
	struct going *g = &u->going;
	const uint32_t end = i + BATCH < n ? i + BATCH : n;
	uint32_t taken = g->taken;

	for (uint32_t k = i; k < end; k++)
		handles_foresee(&u->handles, named[k]);
	for (uint32_t k = i < BATCH ? 0 : i - BATCH; k < i && k < n; k++) {
		g->numbers[taken] = u->numbers[k] = handles_take_early(&u->handles, named[k]);
		taken += u->numbers[k] != ARENA_NONE;
	}
	arena_foresee_blocks(u->arena, &g->numbers[g->taken], taken - g->taken);
	arena_foresee_beside(u->arena, &g->numbers[g->fetched], g->taken - g->fetched);
	for (unsigned step = ARENA_REACH; step > 0; step--) {
		arena_foresee_more(u->arena, &g->reaches[g->reached[step]],
				   g->reached[step - 1] - g->reached[step]);
		g->reached[step] = g->reached[step - 1];
	}
	g->reached[0] += arena_foresee_joins(u->arena, &g->numbers[g->beside], g->fetched - g->beside,
					     &g->reaches[g->reached[0]]);
	g->beside = g->fetched;
	g->fetched = g->taken;
	g->taken = taken;
}

static int usable_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct usable *u = (struct usable *)observer;
	const uint32_t n = chunk->n_records, n_named = chunk->n_freed < n ? chunk->n_freed : n;
	const bool ahead = u->arena && arena_is_large(u->arena);
	uint32_t n_kinds, seen = 0;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (!reserve(u, n, chunk->n_symbols))
		return MST_ERR_NOMEM;
	find_uses(u, chunk, kinds);
	if (!find_blocks(u, chunk))
		return MST_ERR_IDENTITY;
	memset(u->numbers, 0xff, n_named * sizeof(*u->numbers));
	u->named = 0;
	going_begin(&u->going);
	u->has_forgotten = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct use *first = &u->uses[chunk->records[i]];
		const bool pair = first->role == MST_OUT || first->role == MST_KEEP;
		const struct use *last = &u->uses[chunk->records[i + pair]];

		for (; ahead && seen <= u->named + AHEAD; seen += BATCH)
			foresee(u, chunk->freed, seen, n_named);
		if (!run_call(u, i, first, last, pair))
			return MST_ERR_NOMEM;
		u->named += first->is_named + (pair && last->is_named);
		i += pair;
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
	free(u->numbers);
	free(u->going.numbers);
	free(u->going.reaches);
	free(u->uses);
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
