/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "profile_state.h"

/* The position of a walk through a chunk. */
struct walk {
	const struct mst_chunk *chunk;
	uint32_t record, stamp, run, freed; /* indices of the chunk's arrays */
	uint64_t alloc;                     /* index of the next allocated block */
	uint64_t time;                      /* of the present call, in the settings' unit */
	uint64_t before_ns;                 /* time of the call before it */
};

static const struct mst_token *token_at(const struct walk *w, uint32_t record)
{
	return &w->chunk->tokens[w->chunk->records[record]];
}

static void read_time(struct profile *p, struct walk *w)
{
	const struct mst_chunk *c = w->chunk;
	w->before_ns = p->now_ns;
	while (w->stamp + 1 < c->n_stamps && c->stamps[w->stamp + 1].record <= w->record)
		w->stamp++;
	if (c->n_stamps)
		p->now_ns = c->stamps[w->stamp].time << p->time_shift;
	uint64_t change = p->initial ? 0 : profile_change(p, token_at(w, w->record));
	if (token_at(w, w->record)->role == MST_OUT)
		change += profile_change(p, token_at(w, w->record + 1));
	p->now += clock_ticks(p->settings, change);
	w->time = p->now = clock_at_record(&p->clock, w->record, p->now);
}

void profile_begin_allocs(struct profile *p)
{
	p->allocs_begun = true;
	p->alloc_begin_ns = p->now_ns;
	row_table_forget_allocated(&p->table);
}

/* Runs before each call is counted; notes the time limits that have passed. */
static void check_limits(struct profile *p, const struct walk *w)
{
	const struct profile_query *q = p->query;
	if (!p->begun && w->time >= q->from && w->alloc >= q->first_block) {
		p->begun = true;
		p->first_block = w->alloc;
	}
	if (p->initial)
		return; /* limits don't apply to the initial state */
	if (!p->allocs_begun && w->time >= q->alloc_from &&
	    w->chunk->first_record + w->record >= q->alloc_record)
		profile_begin_allocs(p);
	if (!p->passed && ((q->at.kind == AT_TIME && w->time > q->at.time) ||
			   (q->at.kind == AT_MARK && w->chunk->first_record + w->record >= q->at.record))) {
		p->passed = true;
		p->table.point++;
		p->point_ns = w->before_ns;
	}
	if (w->time > q->until)
		p->ended = true;
}

static uint32_t thread_at(struct walk *w)
{
	const struct mst_chunk *c = w->chunk;
	while (w->run + 1 < c->n_runs && c->runs[w->run + 1].record <= w->record)
		w->run++;
	return c->n_runs ? c->runs[w->run].thread : 0;
}

static bool count_alloc(struct profile *p, struct walk *w, uint32_t kind)
{
	const uint64_t block = w->alloc++;
	if (!p->begun || !profile_counts(p, kind))
		return true;
	const uint32_t thread = p->query->threads ? thread_at(w) : p->table.first_thread;
	const bool first = thread == p->table.first_thread;
	const uint32_t id =
		first ? row_table_first(&p->table, kind) : row_table_other(&p->table, kind, thread);
	if (id == NO_ROW)
		return false;
	struct row *row = row_table_change(&p->table, id);
	row->live++;
	row->allocated += !p->initial;
	return first || p->lacks_threads || block_map_put(&p->other_blocks, block, id);
}

static bool count_free(struct profile *p, struct walk *w, uint32_t kind)
{
	const uint64_t block = w->freed < w->chunk->n_freed ? w->chunk->freed[w->freed++] : UINT64_MAX;
	if (!p->begun || !profile_counts(p, kind) || block < p->first_block)
		return true;
	uint32_t id;
	if (!p->many_threads || !block_map_take(&p->other_blocks, block, &id))
		id = row_table_first(&p->table, kind);
	if (id != NO_ROW)
		row_table_change(&p->table, id)->live--;
	return id != NO_ROW;
}

static bool count_record(struct profile *p, struct walk *w)
{
	const struct mst_token *s = token_at(w, w->record);
	p->total += profile_change(p, s);
	switch ((enum mst_role)s->role) {
	case MST_ALLOC:
		return count_alloc(p, w, s->kind);
	case MST_FREE:
	case MST_OUT:
		return count_free(p, w, s->kind);
	case MST_KEEP:
		w->freed++;
		break;
	case MST_CALL:
		break;
	}
	return true;
}

int profile_add_records(struct profile *p, const struct mst_chunk *chunk)
{
	struct walk w = { .chunk = chunk, .alloc = chunk->first_alloc };
	const bool timeless = profile_is_timeless(p);
	uint32_t peak = UINT32_MAX; /* the record that made it, of this chunk */
	if (timeless)
		p->now_ns = chunk->last_time << p->time_shift;
	for (; w.record < chunk->n_records; w.record++) {
		if (!timeless) {
			read_time(p, &w);
			check_limits(p, &w);
		}
		if (p->ended)
			break;
		/* The reader has verified that a record follows an OUT. */
		const bool pair = token_at(&w, w.record)->role == MST_OUT;
		bool fine = count_record(p, &w);
		if (pair && fine) {
			w.record++;
			assert(w.record < chunk->n_records);
			fine = count_record(p, &w);
		}
		if (!fine)
			return MST_ERR_NOMEM;
		if (p->query->at.kind == AT_PEAK && p->begun && p->total > p->best) {
			p->best = p->total;
			p->table.point++;
			peak = w.record;
		}
	}
	if (peak != UINT32_MAX)
		p->point_ns = profile_record_ns(p, chunk, peak);
	return 0;
}
