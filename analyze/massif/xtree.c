/* SPDX-License-Identifier: MIT */
/*
 * Values are unsigned and may wrap: a hostile trace may free more than it allocates, or blocks of any size. Blocks are
 * counted in shares (sample_weight.h) until the end.
 *
 * A report of a point in time keeps its values lazily, as row_table.h: the first change after the point saves them, so a
 * higher peak costs nothing.
 */
#include "xtree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "massif.h"
#include "sample_weight.h"
#include "shown_stacks.h"

#define NS_PER_MS 1000000u

struct values {
	uint64_t of[XTREE_EVENTS];
	uint64_t then[XTREE_EVENTS]; /* at point number `point`; stale if a later point has been set */
	uint64_t point;
};

/* What else there is at a point in time. */
struct moment {
	uint64_t time_ms;
	uint64_t unplaced;
};

/* What is known of the blocks of a kind, or of the calls of one that only frees. */
struct kind_state {
	uint32_t context;       /* CONTEXT_UNKNOWN: not looked up yet */
	uint32_t shown_context; /* in Massif's trees; the same */
};

struct xtree {
	struct observer observer;
	const struct settings *settings;
	bool full;
	struct shown_stacks contexts;
	struct shown_stacks shown;
	struct values *values;    /* by context */
	uint32_t n_values;        /* at least as many as there are contexts */
	struct values unreported; /* of stacks without a frame */
	struct kind_state *states;
	uint32_t n_states;           /* at least as many as the trace has kinds */
	const struct massif *massif; /* finds the point in time; NULL: the end */
	uint64_t point;              /* how often the point has been set */
	struct moment now, then;

	/* The present chunk's. */
	const struct mst_reader *reader;
	const struct mst_kind *kinds;
	uint64_t mean; /* of the sample, see sample_weight.h */
	bool base;     /* the chunk is of the initial state */
};

/* ---- kinds ---- */

static bool reserve_states(struct xtree *x, uint32_t n)
{
	struct kind_state *states;

	if (n <= x->n_states)
		return true;
	n += n / 2;
	states = realloc(x->states, n * sizeof(*states));
	if (!states)
		return false;
	x->states = states;
	for (; x->n_states < n; x->n_states++)
		states[x->n_states] = (struct kind_state){ CONTEXT_UNKNOWN, CONTEXT_UNKNOWN };
	return true;
}

/* Makes room for the values of all contexts. False: no memory. */
static bool reserve_values(struct xtree *x)
{
	const uint32_t n = x->contexts.n + x->contexts.n / 2 + 64;
	struct values *values;

	if (x->contexts.n <= x->n_values)
		return true;
	values = realloc(x->values, n * sizeof(*values));
	if (!values)
		return false;
	x->values = values;
	for (; x->n_values < n; x->n_values++)
		values[x->n_values] = (struct values){ .point = x->point };
	return true;
}

/* The values, ready for a change. */
static struct values *touch(const struct xtree *x, struct values *v)
{
	assert(v->point <= x->point);
	if (v->point != x->point)
		memcpy(v->then, v->of, sizeof(v->then));
	v->point = x->point;
	return v;
}

/* The values of a kind's stack for a change, valid until the next call. NULL: no memory. */
static struct values *values_of(struct xtree *x, uint32_t kind)
{
	uint32_t *context = &x->states[kind].context;

	if (*context == CONTEXT_UNKNOWN)
		*context = shown_stacks_find(&x->contexts, x->reader, &x->kinds[kind]);
	if (*context == CONTEXT_IGNORED)
		return &x->unreported;
	return *context != CONTEXT_UNKNOWN && reserve_values(x) ? touch(x, &x->values[*context]) : NULL;
}

/* Whether Massif's own counters leave out what a kind allocates. Without memory: no. */
static bool is_ignored(struct xtree *x, uint32_t kind)
{
	uint32_t *context = &x->states[kind].shown_context;

	if (*context == CONTEXT_UNKNOWN)
		*context = shown_stacks_find(&x->shown, x->reader, &x->kinds[kind]);
	return *context == CONTEXT_IGNORED;
}

/*
 * Whether Massif's full report doesn't notice that a block of `old` goes, and compat asks for that: a block of no bytes,
 * or one that the other counters ignore, or one that a realloc of kind `resized` (else MST_NONE) takes out of them.
 */
static bool is_overlooked(struct xtree *x, uint32_t old, uint32_t resized)
{
	if (!x->full || x->settings->compat == COMPAT_FIXED)
		return false;
	return x->kinds[old].size == 0 || is_ignored(x, old) ||
	       (resized != MST_NONE && is_ignored(x, resized));
}

/* ---- records ---- */

static uint64_t bytes_of(const struct xtree *x, uint32_t kind)
{
	return weight_bytes(x->mean, x->kinds[kind].size, x->kinds[kind].size);
}

static uint64_t shares_of(const struct xtree *x, uint32_t kind)
{
	return weight_shares(x->mean, x->kinds[kind].size);
}

/* `n` blocks. False, here and below: no memory. */
static bool come(struct xtree *x, uint32_t kind, uint64_t n)
{
	struct values *v = values_of(x, kind);

	assert(kind < x->n_states);
	if (!v)
		return false;
	v->of[XTREE_LIVE_BYTES] += n * bytes_of(x, kind);
	v->of[XTREE_LIVE_BLOCKS] += n * shares_of(x, kind);
	if (x->base)
		return true;
	v->of[XTREE_TOTAL_BYTES] += n * bytes_of(x, kind);
	v->of[XTREE_TOTAL_BLOCKS] += n * shares_of(x, kind);
	return true;
}

static bool leave(struct xtree *x, uint32_t kind, uint64_t n)
{
	struct values *v = values_of(x, kind);

	if (!v)
		return false;
	v->of[XTREE_LIVE_BYTES] -= n * bytes_of(x, kind);
	v->of[XTREE_LIVE_BLOCKS] -= n * shares_of(x, kind);
	return true;
}

static bool is_counted(const struct xtree *x, uint32_t kind)
{
	return x->kinds[kind].op != MST_OP_UNKNOWN;
}

/* `n` blocks of `old` go by calls whose stacks are unknown. */
static bool do_free(struct xtree *x, uint32_t old, uint64_t n)
{
	if (!is_counted(x, old) || is_overlooked(x, old, MST_NONE))
		return true;
	x->now.unplaced += n;
	return leave(x, old, n);
}

/* A block of `old` goes by the call `by`, which returns another block if `resized`. */
static bool do_pair(struct xtree *x, uint32_t old, uint32_t by, bool resized)
{
	const bool has_stack = resized || x->kinds[by].op < MST_OP_IMPLIED_FREE;

	/* It stands for its function alone. */
	if (!resized && mst_op_is_free(x->kinds[by].op) && x->kinds[by].stack == MST_ROOT_STACK)
		return do_free(x, old, 1);
	if (is_counted(x, old) && !is_overlooked(x, old, resized ? by : MST_NONE)) {
		struct values *v;

		if (!leave(x, old, 1))
			return false;
		v = has_stack ? values_of(x, by) : &x->unreported;
		if (!v)
			return false;
		v->of[XTREE_FREED_BYTES] += bytes_of(x, old);
		v->of[XTREE_FREED_BLOCKS] += shares_of(x, old);
	}
	return !resized || come(x, by, 1);
}

/* The records [i, end), which begin and end with whole calls. */
static bool do_records(struct xtree *x, const struct mst_chunk *chunk, uint32_t i, uint32_t end)
{
	bool fine = true;

	assert(i <= end && end <= chunk->n_records);
	for (; fine && i < end; i++) {
		const struct mst_token *token = &chunk->tokens[chunk->records[i]], *next;

		switch ((enum mst_role)token->role) {
		case MST_ALLOC:
			fine = come(x, token->kind, 1);
			break;
		case MST_FREE:
			fine = do_free(x, token->kind, 1);
			break;
		case MST_OUT:
			/* The reader has proved that there is a next record. */
			next = &chunk->tokens[chunk->records[++i]];
			fine = do_pair(x, token->kind, next->kind, next->role == MST_ALLOC);
			break;
		case MST_CALL:
		case MST_KEEP:
			break;
		}
	}
	return fine;
}

/* ---- a chunk at once ---- */

/* A full report needs records: only they say which call freed which kind. */
static bool xtree_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			       const struct mst_chunk *chunk)
{
	const struct xtree *x = (const struct xtree *)observer;
	bool needed = false;

	(void)reader;
	for (uint32_t i = 0; x->full && i < chunk->n_tokens; i++)
		needed |= chunk->tokens[i].role == MST_OUT;
	return !needed;
}

/*
 * Without which call freed which kind. Tokens are in order of first use, so stacks come up in the same order as by
 * records; stacks that only free don't come up.
 */
static bool do_tokens(struct xtree *x, const struct mst_chunk *chunk)
{
	bool fine = true;

	for (uint32_t i = 0; fine && i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];

		if (token->role == MST_ALLOC)
			fine = come(x, token->kind, token->count);
		else if (token->role == MST_FREE || token->role == MST_OUT)
			fine = do_free(x, token->kind, token->count);
	}
	return fine;
}

/* ---- the point in time ---- */

/* The time of the chunk's record before `records`; of none, what it was before the chunk. */
static uint64_t time_before(const struct xtree *x, const struct mst_chunk *chunk, uint32_t records)
{
	uint64_t ms = x->now.time_ms;

	for (uint32_t i = 0; i < chunk->n_stamps && chunk->stamps[i].record < records; i++)
		ms = (chunk->stamps[i].time << mst_reader_time_shift(x->reader)) / NS_PER_MS;
	return ms;
}

/* The report's point, so far, is after the first `records` records of the chunk. */
static bool do_point(struct xtree *x, const struct mst_chunk *chunk, uint32_t records)
{
	if (!do_records(x, chunk, 0, records))
		return false;
	x->point++;
	x->then = (struct moment){ time_before(x, chunk, records), x->now.unplaced };
	return do_records(x, chunk, records, chunk->n_records);
}

/* A time that has passed will not come again. */
static bool xtree_satisfied(const struct observer *observer)
{
	const struct xtree *x = (const struct xtree *)observer;

	return x->massif && x->settings->ats[0].kind == AT_TIME && x->point;
}

/* Whether the report is of the trace's end: also of a time that has not come. */
static bool is_of_end(const struct xtree *x)
{
	return !x->massif || (x->settings->ats[0].kind != AT_PEAK && !x->point);
}

/* Brings the values back to what they were at the point; at no peak there was nothing. */
static void go_back(struct xtree *x)
{
	for (uint32_t i = 0; i < x->n_values; i++) {
		struct values *v = &x->values[i];

		if (x->point == 0 || v->point == x->point)
			memcpy(v->of, v->then, sizeof(v->of));
	}
	x->now = x->then;
}

/* ---- the observer ---- */

static int xtree_chunk(struct observer *observer, const struct mst_reader *reader,
		       const struct mst_chunk *chunk)
{
	struct xtree *x = (struct xtree *)observer;
	uint32_t n_kinds, records;
	bool fine;

	x->reader = reader;
	x->base = chunk->initial;
	x->kinds = mst_reader_kinds(reader, &n_kinds);
	x->mean = mst_reader_info(reader)->sample_bytes;
	fine = reserve_states(x, n_kinds);
	if (fine && x->massif && massif_is_point_here(x->massif, &records))
		fine = do_point(x, chunk, records);
	else if (fine && x->settings->heap)
		fine = observer->by_sums ? do_tokens(x, chunk) : do_records(x, chunk, 0, chunk->n_records);
	x->now.time_ms = (chunk->last_time << mst_reader_time_shift(reader)) / NS_PER_MS;
	return fine ? 0 : MST_ERR_NOMEM;
}

static int xtree_end(struct observer *observer, const struct mst_reader *reader)
{
	struct xtree *x = (struct xtree *)observer;
	const struct mst_end *end = mst_reader_end(reader);

	if (end)
		x->now.time_ms = end->time_ns / NS_PER_MS;
	if (!is_of_end(x))
		go_back(x);
	for (uint32_t i = 0; i < x->contexts.n && i < x->n_values; i++) {
		uint64_t *of = x->values[i].of;

		of[XTREE_LIVE_BLOCKS] = weight_blocks(of[XTREE_LIVE_BLOCKS]);
		of[XTREE_TOTAL_BLOCKS] = weight_blocks(of[XTREE_TOTAL_BLOCKS]);
		of[XTREE_FREED_BLOCKS] = weight_blocks(of[XTREE_FREED_BLOCKS]);
	}
	return 0;
}

/* ---- life ---- */

struct xtree *xtree_create(const struct settings *settings, struct symbolizer *symbolizer)
{
	static const struct observer_impl impl = {
		.chunk = xtree_chunk,
		.sums_suffice = xtree_sums_suffice,
		.sums = xtree_chunk,
		.satisfied = xtree_satisfied,
		.end = xtree_end,
	};
	struct xtree *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->observer.impl = &impl;
	x->observer.spared = MST_ALL_COLUMNS;
	x->settings = settings;
	x->full = settings->xtree_memory == XTREE_FULL;
	if (!shown_stacks_init(&x->contexts, settings, symbolizer, SHOWN_STACKS_WHOLE) ||
	    !shown_stacks_init(&x->shown, settings, symbolizer, SHOWN_STACKS_SHOWN)) {
		xtree_destroy(x);
		return NULL;
	}
	return x;
}

void xtree_destroy(struct xtree *x)
{
	if (!x)
		return;
	shown_stacks_finish(&x->contexts);
	shown_stacks_finish(&x->shown);
	free(x->values);
	free(x->states);
	free(x);
}

struct observer *xtree_observer(struct xtree *x)
{
	return &x->observer;
}

void xtree_follow(struct xtree *x, const struct massif *massif)
{
	x->massif = massif;
	x->observer.spared &= ~MST_TIMES;
}

/* ---- the report ---- */

unsigned xtree_events(const struct xtree *x)
{
	return x->full ? XTREE_EVENTS : XTREE_TOTAL_BYTES;
}

uint32_t xtree_places(const struct xtree *x)
{
	return x->contexts.n;
}

/* A stack has nothing if its blocks are gone, and no stack is known to have freed them. */
static bool has_any(const struct xtree *x, const uint64_t *values)
{
	uint64_t any = values[XTREE_LIVE_BLOCKS];

	for (unsigned i = 0; x->full && i < XTREE_EVENTS; i++)
		any |= values[i];
	return any;
}

bool xtree_place(const struct xtree *x, uint32_t i, struct xtree_place *place)
{
	const struct context *c = &x->contexts.items[i];

	assert(i < x->contexts.n && i < x->n_values);

	*place = (struct xtree_place){ .stack = c->stack, .n = c->n, .values = x->values[i].of };
	return has_any(x, place->values);
}

uint64_t xtree_time(const struct xtree *x)
{
	return x->now.time_ms;
}

uint64_t xtree_unplaced(const struct xtree *x)
{
	return x->full ? x->now.unplaced : 0;
}
