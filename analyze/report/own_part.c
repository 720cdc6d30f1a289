/* SPDX-License-Identifier: MIT */
#include "own_part.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sample_weight.h"

struct own_part {
	struct observer observer;
	struct own_part_query query;
	size_t from; /* index of its first level */

	struct own_kind *kinds;
	uint32_t n_kinds, room_kinds;
	uint64_t *bytes; /* of a block, by token of the present chunk */
	uint32_t room_bytes;

	bool begun;              /* an own thread has made a call: no fork before it is the own one */
	uint64_t allocations;    /* so far, in the whole trace */
	uint64_t first;          /* index of the first own one */
	uint64_t live, history;  /* bytes: own ones, and with the parent's */
	struct index_map passed; /* live blocks that passed, if the filter asks for them */
	struct own_figures figures;
	uint64_t start_ns; /* CLOCK_REALTIME at time 0 */
};

/* The place in a chunk. */
struct spot {
	const struct mst_chunk *chunk;
	uint32_t record, stamp, run, freed;
	uint64_t now_ns;
	uint32_t thread;
	unsigned time_shift;
};

/* ---- Effects ---- */

static bool note_level(struct own_part *p, uint64_t now_ns)
{
	if ((int64_t)p->live > (int64_t)p->figures.peak_bytes) {
		p->figures.peak_bytes = p->live;
		p->figures.peak_ns = now_ns;
	}
	return !p->query.levels ||
	       levels_add(p->query.levels, &p->from, p->query.trace, p->start_ns + now_ns, p->live);
}

/* All before it was the parent's. */
static void begin_at_fork(struct own_part *p, uint64_t now_ns)
{
	memset(p->kinds, 0, p->n_kinds * sizeof(*p->kinds));
	p->first = p->allocations;
	p->live = 0;
	p->figures = (struct own_figures){ .begin_ns = now_ns, .inherited_bytes = p->history };
	if (p->query.levels)
		p->query.levels->n = p->from;
}

/* Whether the block `index` of a kind is the own one's; UINT64_MAX: which one it is isn't known. */
static bool is_own(const struct own_part *p, const struct own_kind *kind, uint64_t index)
{
	return kind->live > 0 && (index == UINT64_MAX || index >= p->first);
}

/* False: no memory. */
static bool come(struct own_part *p, struct own_kind *kind, uint64_t bytes, bool initial, uint64_t now_ns)
{
	kind->allocated += !initial;
	kind->live++;
	p->live += bytes;
	p->history += bytes;
	return note_level(p, now_ns);
}

/* False: no memory. */
static bool go(struct own_part *p, struct own_kind *kind, uint64_t bytes, uint64_t index, uint64_t now_ns)
{
	p->history -= bytes;
	if (!is_own(p, kind, index))
		return true;
	kind->live--;
	p->live -= bytes;
	return note_level(p, now_ns);
}

/* False: no memory. */
static bool see_record(struct own_part *p, struct spot *at)
{
	const struct mst_chunk *c = at->chunk;
	const uint16_t number = c->records[at->record];
	const struct mst_token *token = &c->tokens[number];
	struct own_kind *kind = &p->kinds[token->kind];
	const uint64_t bytes = p->bytes[number];
	uint64_t index = UINT64_MAX;
	switch ((enum mst_role)token->role) {
	case MST_ALLOC:
		p->allocations++;
		return come(p, kind, bytes, c->initial, at->now_ns);
	case MST_FREE:
	case MST_OUT:
		if (at->freed < c->n_freed)
			index = c->freed[at->freed];
		at->freed++;
		return token->kind == MST_UNKNOWN_KIND || go(p, kind, bytes, index, at->now_ns);
	case MST_KEEP:
		at->freed++;
		break;
	case MST_CALL:
		break;
	}
	return true;
}

/* ---- With a filter ---- */

static bool is_over(const struct own_part *p, const struct mst_file_info *info, uint64_t now_ns)
{
	return now_ns >= p->query.before_ns || info->begin_ns >= p->query.before_ns;
}

/* When the part ends that ends with the trace; the whole of the last millisecond is chosen. */
static uint64_t cut(const struct own_part *p, uint64_t end_ns)
{
	if (!p->query.filter || end_ns < p->query.before_ns)
		return end_ns;
	return p->query.before_ns ? p->query.before_ns - 1 : 0;
}

/* Whether the block that goes or stays has passed. */
static bool has_passed(struct own_part *p, const struct mst_event *e)
{
	uint64_t number;
	if (!p->query.filter->by_block)
		return false;
	return e->type == MST_EVENT_CALL ? index_map_find(&p->passed, e->old_index, &number)
					 : index_map_take(&p->passed, e->old_index, &number);
}

/* What is left of an event, for the blocks that pass. False: no memory. */
static bool see_passed(struct own_part *p, const struct mst_kind *kinds, const struct mst_event *e,
		       uint64_t mean, bool initial, uint64_t now_ns)
{
	const bool goes = e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE;
	if (goes && e->old_kind != MST_UNKNOWN_KIND) {
		const uint64_t size = kinds[e->old_kind].size;
		if (!go(p, &p->kinds[e->old_kind], weight_bytes(mean, size, size), e->old_index, now_ns))
			return false;
	}
	if (e->type != MST_EVENT_ALLOC && e->type != MST_EVENT_RESIZE)
		return true;
	const uint64_t size = kinds[e->kind].size;
	return come(p, &p->kinds[e->kind], weight_bytes(mean, size, size), initial, now_ns) &&
	       (!p->query.filter->by_block || index_map_put(&p->passed, e->index, 0));
}

/* False: no memory. */
static bool see_event(struct own_part *p, const struct mst_reader *reader, const struct mst_event *e,
		      bool initial, uint64_t now_ns)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const struct mst_file_info *info = mst_reader_info(reader);
	struct mst_event left = *e;
	if (e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE) {
		const uint64_t size = kinds[e->kind].size;
		p->allocations++;
		p->figures.all.calls += initial ? 0 : weight_shares(info->sample_bytes, size);
		p->figures.all.bytes += initial ? 0 : weight_bytes(info->sample_bytes, size, size);
	}
	if (is_over(p, info, now_ns))
		return true;
	if (!block_filter_follow(p->query.filter, e))
		return false;
	const bool passed = has_passed(p, e);
	return !block_filter_event(p->query.filter, kinds, &left, passed) ||
	       see_passed(p, kinds, &left, info->sample_bytes, initial, now_ns);
}

/* ---- The observer ---- */

static void arrive(struct spot *at)
{
	const struct mst_chunk *c = at->chunk;
	while (at->stamp < c->n_stamps && c->stamps[at->stamp].record <= at->record)
		at->now_ns = c->stamps[at->stamp++].time << at->time_shift;
	while (at->run < c->n_runs && c->runs[at->run].record <= at->record)
		at->thread = c->runs[at->run++].thread;
}

static bool reserve(struct own_part *p, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	if (!array_reserve_zeroed(&p->kinds, n, &p->room_kinds, sizeof(*p->kinds)) ||
	    !array_reserve(&p->bytes, chunk->n_tokens, &p->room_bytes, sizeof(*p->bytes)))
		return false;
	p->n_kinds = n;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const uint64_t size = kinds[chunk->tokens[i].kind].size;
		p->bytes[i] = weight_bytes(mean, size, size);
	}
	return true;
}

/* `kind` is that of a call by `thread`. */
static void see_thread(struct own_part *p, const struct mst_reader *reader, uint32_t thread, uint32_t kind,
		       uint64_t now_ns)
{
	uint32_t n;
	const struct mst_file_info *info = mst_reader_info(reader);
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	if (p->begun || info->parent_pid == 0)
		return;
	p->begun = threads[thread].tid == info->pid;
	if (!p->begun && kind < n && kinds[kind].op == MST_OP_FORK)
		begin_at_fork(p, now_ns);
}

/* False: no memory. */
static bool see_records(struct own_part *p, const struct mst_reader *reader, struct spot *at)
{
	for (; at->record < at->chunk->n_records; at->record++) {
		arrive(at);
		see_thread(p, reader, at->thread, at->chunk->tokens[at->chunk->records[at->record]].kind,
			   at->now_ns);
		if (!see_record(p, at))
			return false;
	}
	return true;
}

/* The same with a filter. */
static bool see_events(struct own_part *p, const struct mst_reader *reader, struct spot *at)
{
	struct mst_cursor cursor = MST_CURSOR(at->chunk);
	struct mst_event e;
	while (mst_cursor_next(&cursor, &e)) {
		at->now_ns = e.time << at->time_shift;
		see_thread(p, reader, e.thread, e.kind, at->now_ns);
		if (!see_event(p, reader, &e, at->chunk->initial, at->now_ns))
			return false;
	}
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct own_part *p = (struct own_part *)observer;
	const struct mst_file_info *info = mst_reader_info(reader);
	struct spot at = {
		.chunk = chunk,
		.time_shift = mst_reader_time_shift(reader),
		.now_ns = info->begin_ns,
	};
	if (!reserve(p, reader, chunk))
		return MST_ERR_NOMEM;
	p->start_ns = info->start_ns;
	if (p->figures.begin_ns < info->begin_ns)
		p->figures.begin_ns = info->begin_ns;
	if (!(p->query.filter ? see_events(p, reader, &at) : see_records(p, reader, &at)))
		return MST_ERR_NOMEM;
	at.now_ns = cut(p, at.now_ns);
	if (at.now_ns > p->figures.end_ns)
		p->figures.end_ns = at.now_ns;
	return 0;
}

/* With the process its memory goes. */
static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct own_part *p = (struct own_part *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	if (end && cut(p, end->time_ns) > p->figures.end_ns)
		p->figures.end_ns = cut(p, end->time_ns);
	if (!p->query.levels || p->query.levels->n == p->from)
		return 0;
	return levels_add(p->query.levels, &p->from, p->query.trace, p->start_ns + p->figures.end_ns, 0)
		       ? 0
		       : MST_ERR_NOMEM;
}

static bool has_begun(const struct observer *observer)
{
	const struct own_part *p = (const struct own_part *)observer;
	return p->query.only_begin && p->begun;
}

struct own_part *own_part_create(const struct own_part_query *query)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.satisfied = has_begun,
		.end = see_end,
	};
	struct own_part *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_INSTRUCTIONS,
	};
	p->query = *query;
	p->from = query->levels ? query->levels->n : 0;
	return p;
}

void own_part_destroy(struct own_part *p)
{
	if (!p)
		return;
	index_map_finish(&p->passed);
	free(p->kinds);
	free(p->bytes);
	free(p);
}

struct observer *own_part_observer(struct own_part *p)
{
	return &p->observer;
}

struct own_figures own_part_figures(const struct own_part *p)
{
	return p->figures;
}

const struct own_kind *own_part_kinds(const struct own_part *p, uint32_t *n)
{
	*n = p->n_kinds;
	return p->kinds;
}
