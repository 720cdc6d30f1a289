/* SPDX-License-Identifier: MIT */
#include "own_part.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sample_weight.h"

struct own_part {
	struct observer observer;
	struct levels *levels;
	size_t from; /* index of its first level */
	uint32_t trace;

	struct own_kind *kinds;
	uint32_t n_kinds, room_kinds;
	uint64_t *bytes; /* of a block, by token of the present chunk */
	uint32_t room_bytes;

	bool begun;             /* an own thread has made a call: no fork before it is the own one */
	uint64_t allocations;   /* so far, in the whole trace */
	uint64_t first;         /* index of the first own one */
	uint64_t live, history; /* bytes: own ones, and with the parent's */
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
	return !p->levels || levels_add(p->levels, &p->from, p->trace, p->start_ns + now_ns, p->live);
}

/* All before it was the parent's. */
static void begin_at_fork(struct own_part *p, uint64_t now_ns)
{
	memset(p->kinds, 0, p->n_kinds * sizeof(*p->kinds));
	p->first = p->allocations;
	p->live = 0;
	p->figures = (struct own_figures){ .begin_ns = now_ns, .inherited_bytes = p->history };
	if (p->levels)
		p->levels->n = p->from;
}

/* Whether the block of a FREE or OUT record is the own one's. */
static bool is_own(const struct own_part *p, const struct spot *at, const struct own_kind *kind)
{
	const struct mst_chunk *c = at->chunk;
	const uint64_t index = at->freed < c->n_freed ? c->freed[at->freed] : UINT64_MAX;
	return kind->live > 0 && (index == UINT64_MAX || index >= p->first);
}

/* False: no memory. */
static bool see_record(struct own_part *p, struct spot *at)
{
	const uint16_t number = at->chunk->records[at->record];
	const struct mst_token *token = &at->chunk->tokens[number];
	struct own_kind *kind = &p->kinds[token->kind];
	const uint64_t bytes = p->bytes[number];
	switch ((enum mst_role)token->role) {
	case MST_ALLOC:
		p->allocations++;
		kind->allocated += !at->chunk->initial;
		kind->live++;
		p->live += bytes;
		p->history += bytes;
		return note_level(p, at->now_ns);
	case MST_FREE:
	case MST_OUT:
		p->history -= token->kind == MST_UNKNOWN_KIND ? 0 : bytes;
		if (token->kind != MST_UNKNOWN_KIND && is_own(p, at, kind)) {
			kind->live--;
			p->live -= bytes;
			at->freed++;
			return note_level(p, at->now_ns);
		}
		at->freed++;
		break;
	case MST_KEEP:
		at->freed++;
		break;
	case MST_CALL:
		break;
	}
	return true;
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

static void see_thread(struct own_part *p, const struct mst_reader *reader, const struct spot *at)
{
	uint32_t n;
	const struct mst_file_info *info = mst_reader_info(reader);
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	if (p->begun || info->parent_pid == 0)
		return;
	p->begun = threads[at->thread].tid == info->pid;
	if (!p->begun && kinds[at->chunk->tokens[at->chunk->records[at->record]].kind].op == MST_OP_FORK)
		begin_at_fork(p, at->now_ns);
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
	for (; at.record < chunk->n_records; at.record++) {
		arrive(&at);
		see_thread(p, reader, &at);
		if (!see_record(p, &at))
			return MST_ERR_NOMEM;
	}
	if (at.now_ns > p->figures.end_ns)
		p->figures.end_ns = at.now_ns;
	return 0;
}

/* With the process its memory goes. */
static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct own_part *p = (struct own_part *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	if (end && end->time_ns > p->figures.end_ns)
		p->figures.end_ns = end->time_ns;
	if (!p->levels || p->levels->n == p->from)
		return 0;
	return levels_add(p->levels, &p->from, p->trace, p->start_ns + p->figures.end_ns, 0) ? 0
											     : MST_ERR_NOMEM;
}

struct own_part *own_part_create(struct levels *levels, uint32_t trace)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct own_part *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_INSTRUCTIONS,
	};
	p->levels = levels;
	p->from = levels ? levels->n : 0;
	p->trace = trace;
	return p;
}

void own_part_destroy(struct own_part *p)
{
	if (!p)
		return;
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
