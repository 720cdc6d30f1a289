/* SPDX-License-Identifier: MIT */
#include "top_counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_map.h"
#include "identity.h"
#include "sample_weight.h"

/* What a record of a token of the present chunk adds, and to which stack. */
struct effect {
	uint64_t bytes, shares; /* of a block; 0: it does not count */
	uint32_t row;           /* index of the stack's figures */
};

struct top_counts {
	struct observer observer;
	uint64_t window_ns;
	bool stopped, begun; /* begun: events came, or time passed */

	struct top_moment now;
	uint32_t *row_of; /* by stack of the trace: 1 + index of its figures; 0: none */
	uint32_t room_row_of;
	uint32_t *stack_of; /* by index */
	uint32_t room_stack_of;
	uint64_t *frees; /* by thread */
	uint32_t room_frees;

	struct block_map owners; /* live blocks of threads other than the first, to their threads */
	bool many_threads, lacks_threads;

	struct top_moment moments[TOP_MOMENTS]; /* oldest first */
	uint32_t n_moments;
	struct top_peak peak;
	uint64_t events;

	struct effect *effects; /* by token of the present chunk */
	uint32_t room_effects;
};

/* ---- Moments ---- */

static bool copy_figures(struct top_figures **to, uint32_t *room, const struct top_figures *from, uint32_t n)
{
	if (n && !array_reserve(to, n - 1, room, sizeof(**to)))
		return false;
	if (n)
		memcpy(*to, from, n * sizeof(*from));
	return true;
}

/* Remembers the present moment; the oldest one's room is used again. False: no memory. */
static bool remember(struct top_counts *c)
{
	struct top_moment moment = { 0 };
	if (c->n_moments == TOP_MOMENTS) {
		moment = c->moments[0];
		memmove(c->moments, c->moments + 1, --c->n_moments * sizeof(*c->moments));
	}
	const bool fine =
		copy_figures(&moment.stacks, &moment.room_stacks, c->now.stacks, c->now.n_stacks) &&
		copy_figures(&moment.threads, &moment.room_threads, c->now.threads, c->now.n_threads);
	moment.time_ns = c->now.time_ns;
	moment.total = c->now.total;
	moment.n_stacks = fine ? c->now.n_stacks : 0;
	moment.n_threads = fine ? c->now.n_threads : 0;
	c->moments[c->n_moments++] = moment;
	return fine;
}

/* At the beginning, and then so often that the oldest moment is a window old. */
static bool remember_if_due(struct top_counts *c)
{
	const uint64_t interval = c->window_ns / (TOP_MOMENTS - 2);
	assert(c->n_moments > 0);
	return c->now.time_ns - c->moments[c->n_moments - 1].time_ns < interval || remember(c);
}

/* The moment before the first event, with the initial state. */
static bool begin(struct top_counts *c, uint64_t time_ns)
{
	if (c->begun)
		return true;
	c->begun = true;
	if (time_ns > c->now.time_ns)
		c->now.time_ns = time_ns;
	return remember(c);
}

const struct top_moment *top_counts_before(const struct top_counts *c, uint64_t span_ns)
{
	if (c->n_moments == 0)
		return &c->now;
	uint32_t i = c->n_moments - 1;
	while (i > 0 && c->now.time_ns - c->moments[i].time_ns < span_ns)
		i--;
	return &c->moments[i];
}

/* ---- A chunk ---- */

/* The index of a stack's figures. False: no memory. */
static bool find_row(struct top_counts *c, uint32_t stack, uint32_t *row)
{
	if (!array_reserve_zeroed(&c->row_of, stack, &c->room_row_of, sizeof(*c->row_of)))
		return false;
	if (c->row_of[stack] == 0) {
		const uint32_t n = c->now.n_stacks;
		if (!array_reserve_zeroed(&c->now.stacks, n, &c->now.room_stacks, sizeof(*c->now.stacks)) ||
		    !array_reserve(&c->stack_of, n, &c->room_stack_of, sizeof(*c->stack_of)))
			return false;
		c->stack_of[n] = stack;
		c->row_of[stack] = ++c->now.n_stacks;
	}
	*row = c->row_of[stack] - 1;
	return true;
}

/* False: no memory. */
static bool prepare_effects(struct top_counts *c, const struct mst_reader *reader,
			    const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	if (chunk->n_tokens &&
	    !array_reserve(&c->effects, chunk->n_tokens - 1, &c->room_effects, sizeof(*c->effects)))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *t = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[t->kind];
		struct effect *e = &c->effects[i];
		*e = (struct effect){ 0 };
		if (t->role >= MST_CALL || kind->op == MST_OP_UNKNOWN)
			continue;
		e->bytes = weight_bytes(mean, kind->size, kind->size);
		e->shares = weight_shares(mean, kind->size);
		if (!find_row(c, kind->stack, &e->row))
			return false;
	}
	return true;
}

/* `n` blocks come, or go. */
static void add(struct top_figures *f, const struct effect *e, uint64_t n, bool come, bool initial)
{
	f->live_bytes += come ? n * e->bytes : -(n * e->bytes);
	f->live_shares += come ? n * e->shares : -(n * e->shares);
	if (come && !initial) {
		f->bytes += n * e->bytes;
		f->shares += n * e->shares;
	}
}

static void add_tokens(struct top_counts *c, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *t = &chunk->tokens[i];
		const struct effect *e = &c->effects[i];
		if (e->shares == 0)
			continue;
		add(&c->now.stacks[e->row], e, t->count, t->role == MST_ALLOC, chunk->initial);
		add(&c->now.total, e, t->count, t->role == MST_ALLOC, chunk->initial);
		if (!c->many_threads && c->now.n_threads && t->role == MST_FREE)
			c->frees[0] += t->count;
	}
}

/* ---- The peak ---- */

/* The sums of a sample are those of the recorded blocks alone. */
static bool can_peak(const struct top_counts *c, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	return mst_reader_info(reader)->sample_bytes ||
	       c->now.total.live_bytes + (uint64_t)chunk->sums.max_bytes > c->peak.bytes;
}

static uint64_t record_time(const struct mst_chunk *chunk, uint32_t record)
{
	uint64_t time = chunk->first_time;
	for (uint32_t i = 0; i < chunk->n_stamps && chunk->stamps[i].record <= record; i++)
		time = chunk->stamps[i].time;
	return time;
}

/*
 * Before the chunk is accounted. A realloc needs no special case: its first record makes the total smaller, so no peak
 * lies between its two records.
 */
static void find_peak(struct top_counts *c, const struct mst_chunk *chunk, unsigned time_shift)
{
	uint64_t total = c->now.total.live_bytes;
	uint32_t found = UINT32_MAX;
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint16_t token = chunk->records[i];
		total += chunk->tokens[token].role == MST_ALLOC ? c->effects[token].bytes
								: -c->effects[token].bytes;
		if (total > c->peak.bytes) {
			c->peak.bytes = total;
			found = i;
		}
	}
	if (found != UINT32_MAX)
		c->peak.time_ns = record_time(chunk, found) << time_shift;
}

/* ---- Threads ---- */

static bool reserve_threads(struct top_counts *c, uint32_t n)
{
	if (n == 0)
		return true;
	if (!array_reserve_zeroed(&c->now.threads, n - 1, &c->now.room_threads, sizeof(*c->now.threads)) ||
	    !array_reserve_zeroed(&c->frees, n - 1, &c->room_frees, sizeof(*c->frees)))
		return false;
	c->now.n_threads = n;
	return true;
}

/* A record that takes a block: of the thread that allocated it. */
static void take_block(struct top_counts *c, const struct effect *e, uint64_t block)
{
	uint32_t owner;
	if (!block_map_take(&c->owners, block, &owner))
		owner = 0;
	add(&c->now.threads[owner], e, 1, false, false);
}

/* The records [from, to) of one thread. */
struct stretch {
	uint32_t from, to, thread;
	uint32_t *freed; /* index of the next of chunk->freed */
	uint64_t *alloc; /* index of the next block */
};

/* False: no memory. */
static bool add_stretch(struct top_counts *c, const struct mst_chunk *chunk, const struct stretch *s)
{
	for (uint32_t i = s->from; i < s->to; i++) {
		const struct mst_token *t = &chunk->tokens[chunk->records[i]];
		const struct effect *e = &c->effects[chunk->records[i]];
		if (t->role == MST_CALL)
			continue;
		if (t->role == MST_ALLOC) {
			const uint64_t block = (*s->alloc)++;
			add(&c->now.threads[s->thread], e, 1, true, chunk->initial);
			if (e->shares && s->thread && !c->lacks_threads &&
			    !block_map_put(&c->owners, block, s->thread))
				return false;
			continue;
		}
		const uint64_t block = *s->freed < chunk->n_freed ? chunk->freed[(*s->freed)++] : UINT64_MAX;
		if (t->role == MST_KEEP)
			continue;
		if (e->shares)
			take_block(c, e, block);
		c->frees[s->thread] += e->shares && t->role == MST_FREE;
	}
	return true;
}

/* Record by record. False: no memory. */
static bool add_threads(struct top_counts *c, const struct mst_chunk *chunk)
{
	uint32_t freed = 0;
	uint64_t alloc = chunk->first_alloc;
	c->lacks_threads |= chunk_lacks_identity(chunk);
	for (uint32_t i = 0; i < chunk->n_runs; i++) {
		const struct stretch stretch = {
			.from = chunk->runs[i].record,
			.to = i + 1 < chunk->n_runs ? chunk->runs[i + 1].record : chunk->n_records,
			.thread = chunk->runs[i].thread,
			.freed = &freed,
			.alloc = &alloc,
		};
		if (!add_stretch(c, chunk, &stretch))
			return false;
	}
	return true;
}

/* ---- The observer ---- */

static int observe(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct top_counts *c = (struct top_counts *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	uint32_t n_threads;
	mst_reader_threads(reader, &n_threads);
	if ((!chunk->initial && !begin(c, mst_reader_info(reader)->begin_ns)) ||
	    !reserve_threads(c, n_threads) || !prepare_effects(c, reader, chunk))
		return MST_ERR_NOMEM;
	if (n_threads > 1 && !c->many_threads) {
		c->many_threads = true;
		c->now.threads[0] = c->now.total;
	}
	if (chunk->records)
		find_peak(c, chunk, shift);
	if (c->many_threads && !add_threads(c, chunk))
		return MST_ERR_NOMEM;
	add_tokens(c, chunk);
	if (!c->many_threads && n_threads)
		c->now.threads[0] = c->now.total;
	c->events += chunk->sums.events + chunk->sums.null_frees;
	if (chunk->last_time << shift > c->now.time_ns)
		c->now.time_ns = chunk->last_time << shift;
	return chunk->initial || remember_if_due(c) ? 0 : MST_ERR_NOMEM;
}

static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	const struct top_counts *c = (struct top_counts *)observer;
	uint32_t n_threads;
	mst_reader_threads(reader, &n_threads);
	return n_threads <= 1 && !can_peak(c, reader, chunk);
}

static bool satisfied(const struct observer *observer)
{
	return ((const struct top_counts *)observer)->stopped;
}

static int end(struct observer *observer, const struct mst_reader *reader)
{
	struct top_counts *c = (struct top_counts *)observer;
	const struct mst_end *e = mst_reader_end(reader);
	const uint64_t begin_ns = mst_reader_info(reader)->begin_ns;
	return begin(c, begin_ns) && top_counts_pass(c, e ? e->time_ns : begin_ns) ? 0 : MST_ERR_NOMEM;
}

struct top_counts *top_counts_create(uint64_t window_ns)
{
	static const struct observer_impl impl = {
		.chunk = observe,
		.sums_suffice = sums_suffice,
		.sums = observe,
		.satisfied = satisfied,
		.end = end,
	};
	struct top_counts *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->observer.impl = &impl;
	c->observer.by_threads = MST_THREADS | MST_IDENTITY;
	c->observer.spared =
		MST_ADDRESSES | MST_SP_CHANGES | MST_AGES | MST_INSTRUCTIONS | c->observer.by_threads;
	c->window_ns = window_ns;
	return c;
}

void top_counts_destroy(struct top_counts *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_moments; i++) {
		free(c->moments[i].stacks);
		free(c->moments[i].threads);
	}
	free(c->now.stacks);
	free(c->now.threads);
	free(c->row_of);
	free(c->stack_of);
	free(c->frees);
	free(c->effects);
	block_map_finish(&c->owners);
	free(c);
}

struct observer *top_counts_observer(struct top_counts *c)
{
	return &c->observer;
}

void top_counts_stop(struct top_counts *c)
{
	c->stopped = true;
}

bool top_counts_pass(struct top_counts *c, uint64_t now_ns)
{
	if (!begin(c, 0))
		return false;
	if (now_ns > c->now.time_ns)
		c->now.time_ns = now_ns;
	return remember_if_due(c);
}

const struct top_moment *top_counts_now(const struct top_counts *c)
{
	return &c->now;
}

uint32_t top_counts_stack(const struct top_counts *c, uint32_t index)
{
	assert(index < c->now.n_stacks);
	return c->stack_of[index];
}

struct top_peak top_counts_peak(const struct top_counts *c)
{
	return c->peak;
}

uint64_t top_counts_events(const struct top_counts *c)
{
	return c->events;
}

uint64_t top_counts_frees(const struct top_counts *c, uint32_t thread)
{
	return thread < c->now.n_threads ? c->frees[thread] : 0;
}

bool top_counts_lack_threads(const struct top_counts *c)
{
	return c->lacks_threads;
}
