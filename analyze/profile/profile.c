/* SPDX-License-Identifier: MIT */
/*
 * A chunk in which no single block and no limit of time matter is added up token by token, in two
 * parts if the peak is in it. What was live at the moment is kept lazily: a row remembers it when it changes for the
 * first time after the moment, so that a new peak costs nothing.
 *
 * Numbers are unsigned and may wrap: a hostile trace may free more than it allocates.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_map.h"
#include "effect.h"

#define NS_PER_MS 1000000u
#define NO_ROW UINT32_MAX

const char *const profile_value_names[PROFILE_VALUES] = {
	[PROFILE_INUSE_BYTES] = "inuse_bytes",
	[PROFILE_INUSE_OBJECTS] = "inuse_objects",
	[PROFILE_ALLOC_BYTES] = "alloc_bytes",
	[PROFILE_ALLOC_OBJECTS] = "alloc_objects",
};

struct row {
	uint32_t kind, thread;
	uint64_t allocated, live;
	uint64_t moment; /* live at the mark number `mark`, if that is the last one */
	uint64_t mark;
};

/* NO_ROW: none so far. */
struct kind_rows {
	uint32_t first;  /* of the first thread */
	uint32_t recent; /* of another thread, the one that was asked for last */
};

struct profile {
	struct observer observer;
	const struct settings *settings;
	const struct profile_query *query;

	struct row *rows;
	uint32_t n_rows, room;
	struct kind_rows *kind_rows; /* by kind */
	uint32_t n_kind_rows;
	struct index_map other_rows;   /* by kind and thread: those of threads other than the first */
	struct block_map other_blocks; /* by live block of these: its row */
	uint32_t first_thread;
	bool any_thread, many_threads, lacks_threads;

	uint64_t total, best; /* Massif's total, now and at the peak */
	uint64_t clock;       /* of bytes */
	uint64_t now_ns;
	uint64_t mark;             /* how often the moment has been set */
	uint64_t first_block;      /* blocks with a lower index are from before the window */
	bool begun, passed, ended; /* the window; the moment of AT_TIME */

	uint64_t *changes; /* by token of a chunk: of the total */
	uint32_t *counts;  /* by token: records */
	uint32_t n_changes;

	/* The present chunk's. */
	const struct mst_kind *kinds;
	unsigned time_shift;
	bool base; /* it says what was live when the trace begins */
};

/* ---- Rows ----------------------------------------------------------------------------------- */

/* NO_ROW, here and below: no memory. */
static uint32_t add_row(struct profile *p, uint32_t kind, uint32_t thread)
{
	if (!array_reserve(&p->rows, p->n_rows, &p->room, sizeof(*p->rows)))
		return NO_ROW;
	p->rows[p->n_rows] = (struct row){ .kind = kind, .thread = thread, .mark = p->mark };
	return p->n_rows++;
}

static bool reserve_kinds(struct profile *p, uint32_t n)
{
	if (n <= p->n_kind_rows)
		return true;
	n += n / 2;
	struct kind_rows *grown = reallocarray(p->kind_rows, n, sizeof(*grown));
	if (!grown)
		return false;
	p->kind_rows = grown;
	while (p->n_kind_rows < n)
		grown[p->n_kind_rows++] = (struct kind_rows){ NO_ROW, NO_ROW };
	return true;
}

static uint32_t first_row(struct profile *p, uint32_t kind)
{
	if (p->kind_rows[kind].first == NO_ROW)
		p->kind_rows[kind].first = add_row(p, kind, p->first_thread);
	return p->kind_rows[kind].first;
}

/* Of a thread that isn't the first. */
static uint32_t other_row(struct profile *p, uint32_t kind, uint32_t thread)
{
	uint32_t *const recent = &p->kind_rows[kind].recent;
	if (*recent != NO_ROW && p->rows[*recent].thread == thread)
		return *recent;
	const uint64_t key = (uint64_t)kind << 32 | thread;
	uint64_t known;
	if (index_map_find(&p->other_rows, key, &known))
		return *recent = (uint32_t)known;
	const uint32_t row = add_row(p, kind, thread);
	return row != NO_ROW && index_map_put(&p->other_rows, key, row) ? (*recent = row) : NO_ROW;
}

/* The row, made ready for a change of its live blocks. */
static struct row *touch(struct profile *p, uint32_t id)
{
	struct row *row = &p->rows[id];
	if (row->mark != p->mark) {
		row->moment = row->live;
		row->mark = p->mark;
	}
	return row;
}

/* ---- A chunk at once ------------------------------------------------------------------------ */

static uint64_t weight_of(const struct profile *p, uint32_t kind)
{
	return effect_usable(p->settings, &p->kinds[kind]) + p->settings->heap_admin;
}

static bool is_counted(const struct profile *p, uint32_t kind)
{
	return p->kinds[kind].op != MST_OP_UNKNOWN;
}

/* Not below the largest total inside of the chunk. */
static uint64_t highest_total(const struct profile *p, const struct mst_chunk *chunk)
{
	const struct mst_sums *sums = &chunk->sums;
	const struct settings *s = p->settings;
	int64_t bytes;
	if (s->usable == USABLE_REQUESTED)
		bytes = sums->max_bytes;
	else if (s->usable == USABLE_ROUNDED && s->alignment == 16)
		bytes = sums->max_bytes16;
	else
		return UINT64_MAX;
	return p->total + (uint64_t)bytes + (uint64_t)sums->max_blocks * s->heap_admin;
}

static bool can_peak(const struct profile *p, const struct mst_chunk *chunk)
{
	return p->query->at.kind == AT_PEAK && highest_total(p, chunk) > p->best;
}

/* The time of the chunk's last call, in ms or instructions; the clock of bytes is another matter. */
static uint64_t last_time_of(const struct profile *p, const struct mst_chunk *chunk)
{
	if (p->settings->time_unit == TIME_INSTRUCTIONS)
		return chunk->last_count;
	return (chunk->last_time << p->time_shift) / NS_PER_MS;
}

/* Whether the next limit of time, if there is one, lies behind the chunk. The clock of bytes is that of single calls. */
static bool is_timeless(const struct profile *p, const struct mst_chunk *chunk)
{
	const struct profile_query *q = p->query;
	const bool waits = !p->begun || q->until != PROFILE_NO_TIME || (q->at.kind == AT_TIME && !p->passed);
	if (!waits)
		return true;
	if (!p->begun || p->settings->time_unit == TIME_BYTES)
		return false;
	const uint64_t last = last_time_of(p, chunk);
	return last <= q->until && (q->at.kind != AT_TIME || p->passed || last <= q->at.time);
}

/* Whether who allocated need not be asked. */
static bool is_thread_known(const struct profile *p)
{
	return !p->query->threads || p->query->one_thread || p->lacks_threads;
}

static bool is_one_thread(struct profile *p, const struct mst_chunk *chunk)
{
	if (is_thread_known(p))
		return true;
	for (uint32_t i = 0; i < chunk->n_runs && !p->many_threads; i++) {
		if (!p->any_thread)
			p->first_thread = chunk->runs[i].thread;
		p->any_thread = true;
		p->many_threads = chunk->runs[i].thread != p->first_thread;
	}
	return !p->many_threads;
}

/* Whether no single record matters but one that makes the peak. */
static bool is_simple(struct profile *p, const struct mst_chunk *chunk)
{
	return is_one_thread(p, chunk) && is_timeless(p, chunk) && p->first_block == 0;
}

/* What a record adds to the total. */
static uint64_t change_of(const struct profile *p, const struct mst_token *s)
{
	if (s->role >= MST_CALL || !is_counted(p, s->kind))
		return 0;
	return s->role == MST_ALLOC ? weight_of(p, s->kind) : -weight_of(p, s->kind);
}

/* Adds `n` records of each token. */
static int add_tokens(struct profile *p, const struct mst_chunk *chunk, const uint32_t *n)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *s = &chunk->tokens[i];
		if (n[i] == 0 || s->role >= MST_CALL || !is_counted(p, s->kind))
			continue;
		const uint32_t id = first_row(p, s->kind);
		if (id == NO_ROW)
			return MST_ERR_NOMEM;
		struct row *row = touch(p, id);
		row->live += s->role == MST_ALLOC ? n[i] : -(uint64_t)n[i];
		if (s->role == MST_ALLOC && !p->base)
			row->allocated += n[i];
		p->total += n[i] * change_of(p, s);
	}
	return 0;
}

static bool reserve_tokens(struct profile *p, uint32_t n)
{
	if (n <= p->n_changes)
		return true;
	uint64_t *changes = reallocarray(p->changes, n, sizeof(*changes));
	if (changes)
		p->changes = changes;
	uint32_t *counts = reallocarray(p->counts, n, sizeof(*counts));
	if (counts)
		p->counts = counts;
	p->n_changes = changes && counts ? n : p->n_changes;
	return changes && counts;
}

/*
 * The number of records up to the largest total inside the chunk, if it is above the best so far; else
 * 0. A realloc is one step without being looked at: its first record makes the total smaller.
 */
static uint32_t find_peak(struct profile *p, const struct mst_chunk *chunk)
{
	uint64_t total = p->total;
	uint32_t found = 0;
	if (!can_peak(p, chunk))
		return 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		p->changes[i] = change_of(p, &chunk->tokens[i]);
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		total += p->changes[chunk->records[i]];
		if (total > p->best) {
			p->best = total;
			found = i + 1;
		}
	}
	return found;
}

static int add_chunk(struct profile *p, const struct mst_chunk *chunk)
{
	if (!reserve_tokens(p, chunk->n_tokens))
		return MST_ERR_NOMEM;
	const uint32_t peak = find_peak(p, chunk);
	int error = 0;
	memset(p->counts, 0, chunk->n_tokens * sizeof(*p->counts));
	if (peak) {
		for (uint32_t i = 0; i < peak; i++)
			p->counts[chunk->records[i]]++;
		error = add_tokens(p, chunk, p->counts);
		p->mark++;
	}
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		p->counts[i] = chunk->tokens[i].count - p->counts[i];
	if (!error)
		error = add_tokens(p, chunk, p->counts);
	p->now_ns = chunk->last_time << p->time_shift;
	return error;
}

/* ---- Record by record ----------------------------------------------------------------------- */

/* A walk through a chunk. */
struct walk {
	const struct mst_chunk *chunk;
	uint32_t record, stamp, run, freed;
	uint64_t alloc;
	uint64_t time; /* of the present call, in the settings' unit */
};

static const struct mst_token *symbol_at(const struct walk *w, uint32_t record)
{
	return &w->chunk->tokens[w->chunk->records[record]];
}

static void tell_time(struct profile *p, struct walk *w)
{
	const struct mst_chunk *c = w->chunk;
	while (w->stamp + 1 < c->n_stamps && c->stamps[w->stamp + 1].record <= w->record)
		w->stamp++;
	if (c->n_stamps)
		p->now_ns = c->stamps[w->stamp].time << p->time_shift;
	if (p->settings->time_unit == TIME_INSTRUCTIONS)
		w->time = c->instructions[w->record];
	else
		w->time = p->now_ns / NS_PER_MS;
	if (p->settings->time_unit != TIME_BYTES)
		return;
	uint64_t change = p->base ? 0 : change_of(p, symbol_at(w, w->record));
	if (symbol_at(w, w->record)->role == MST_OUT)
		change += change_of(p, symbol_at(w, w->record + 1));
	p->clock += (int64_t)change < 0 ? -change : change;
	w->time = p->clock;
}

/* Before a call: which limits of time it is beyond. */
static void check_limits(struct profile *p, const struct walk *w)
{
	const struct profile_query *q = p->query;
	if (!p->begun && w->time >= q->from) {
		p->begun = true;
		p->first_block = w->alloc;
	}
	if (p->base)
		return; /* it is all there, whenever it came */
	if (q->at.kind == AT_TIME && !p->passed && w->time > q->at.time) {
		p->passed = true;
		p->mark++;
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

static bool come(struct profile *p, struct walk *w, uint32_t kind)
{
	const uint64_t block = w->alloc++;
	if (!p->begun)
		return true;
	const uint32_t thread = p->query->threads ? thread_at(w) : p->first_thread;
	const bool first = thread == p->first_thread;
	const uint32_t id = first ? first_row(p, kind) : other_row(p, kind, thread);
	if (id == NO_ROW)
		return false;
	struct row *row = touch(p, id);
	row->live++;
	row->allocated += !p->base;
	return first || p->lacks_threads || block_map_put(&p->other_blocks, block, id);
}

static bool leave(struct profile *p, struct walk *w, uint32_t kind)
{
	const uint64_t block = w->freed < w->chunk->n_freed ? w->chunk->freed[w->freed++] : UINT64_MAX;
	if (!p->begun || !is_counted(p, kind) || block < p->first_block)
		return true;
	uint32_t id;
	if (!p->many_threads || !block_map_take(&p->other_blocks, block, &id))
		id = first_row(p, kind);
	if (id != NO_ROW)
		touch(p, id)->live--;
	return id != NO_ROW;
}

static bool do_record(struct profile *p, struct walk *w)
{
	const struct mst_token *s = symbol_at(w, w->record);
	p->total += change_of(p, s);
	switch ((enum mst_role)s->role) {
	case MST_ALLOC:
		return come(p, w, s->kind);
	case MST_FREE:
	case MST_OUT:
		return leave(p, w, s->kind);
	case MST_KEEP:
		w->freed++;
		break;
	case MST_CALL:
		break;
	}
	return true;
}

static int walk_chunk(struct profile *p, const struct mst_chunk *chunk)
{
	struct walk w = { .chunk = chunk, .alloc = chunk->first_alloc };
	const bool timeless = is_timeless(p, chunk);
	if (timeless)
		p->now_ns = chunk->last_time << p->time_shift;
	for (; w.record < chunk->n_records; w.record++) {
		if (!timeless) {
			tell_time(p, &w);
			check_limits(p, &w);
		}
		if (p->ended)
			break;
		/* The reader has proved that there is a record behind an OUT. */
		const bool pair = symbol_at(&w, w.record)->role == MST_OUT;
		bool fine = do_record(p, &w);
		if (pair && fine) {
			w.record++;
			fine = do_record(p, &w);
		}
		if (!fine)
			return MST_ERR_NOMEM;
		if (p->query->at.kind == AT_PEAK && p->begun && p->total > p->best) {
			p->best = p->total;
			p->mark++;
		}
	}
	return 0;
}

/* ---- The observer --------------------------------------------------------------------------- */

static bool frees_blocks(const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const uint32_t role = chunk->tokens[i].role;
		if (role == MST_FREE || role == MST_OUT)
			return true;
	}
	return false;
}

static void begin_chunk(struct profile *p, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n_kinds;
	p->kinds = mst_reader_kinds(reader, &n_kinds);
	p->time_shift = mst_reader_time_shift(reader);
	p->base = chunk->base;
}

/* Who of several allocated, and which blocks are older than the window, only records tell. */
static bool is_plain(const struct profile_query *query)
{
	return (!query->threads || query->one_thread) && query->from == 0;
}

static bool profile_sums_suffice(struct observer *observer, const struct mst_reader *reader,
				 const struct mst_chunk *chunk)
{
	struct profile *p = (struct profile *)observer;
	begin_chunk(p, reader, chunk);
	return is_plain(p->query) && is_simple(p, chunk) && !can_peak(p, chunk);
}

static int profile_chunk(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct profile *p = (struct profile *)observer;
	uint32_t n_kinds;
	mst_reader_kinds(reader, &n_kinds);
	begin_chunk(p, reader, chunk);
	if (!reserve_kinds(p, n_kinds))
		return MST_ERR_NOMEM;
	if (chunk->n_freed == 0 && frees_blocks(chunk)) {
		if (p->query->from)
			return MST_ERR_IDENTITY;
		p->lacks_threads = !is_thread_known(p);
	}
	return is_simple(p, chunk) ? add_chunk(p, chunk) : walk_chunk(p, chunk);
}

/* What comes behind the window has no say. */
static bool profile_satisfied(const struct observer *observer)
{
	const struct profile *p = (const struct profile *)observer;
	return p->ended || (p->query->moment_alone && p->passed);
}

static int profile_end(struct observer *observer, const struct mst_reader *reader)
{
	struct profile *p = (struct profile *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	if (end && !p->ended && end->time_ns > p->now_ns)
		p->now_ns = end->time_ns;
	if (p->query->at.kind == AT_END || (p->query->at.kind == AT_TIME && !p->passed))
		p->mark++;
	return 0;
}

struct profile *profile_create(const struct settings *settings, const struct profile_query *query)
{
	static const struct observer_impl impl = {
		.chunk = profile_chunk,
		.sums_suffice = profile_sums_suffice,
		.sums = profile_chunk,
		.satisfied = profile_satisfied,
		.end = profile_end,
	};
	struct profile *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->observer.impl = &impl;
	p->settings = settings;
	p->query = query;
	p->begun = query->from == 0;
	p->any_thread = query->one_thread;
	p->observer.spared =
		MST_ADDRESSES | MST_SP_CHANGES | (is_plain(query) ? MST_THREADS | MST_IDENTITY : 0);
	return p;
}

void profile_destroy(struct profile *p)
{
	if (!p)
		return;
	index_map_finish(&p->other_rows);
	block_map_finish(&p->other_blocks);
	free(p->kind_rows);
	free(p->changes);
	free(p->counts);
	free(p->rows);
	free(p);
}

/* ---- Beginning in the middle ---------------------------------------------------------------- */

static bool is_before_moment(const struct mst_keyframe *keyframe, void *context)
{
	const struct profile *p = context;
	const uint64_t time = p->settings->time_unit == TIME_INSTRUCTIONS
				      ? keyframe->instructions
				      : (keyframe->time << p->time_shift) / NS_PER_MS;
	return time <= p->query->at.time;
}

int profile_seek(struct profile *p, struct mst_reader *reader)
{
	const struct profile_query *q = p->query;
	struct mst_keyframe keyframe;
	uint32_t n_kinds;
	/* The clock of bytes is that of all calls, one by one. */
	if (!q->moment_alone || q->at.kind != AT_TIME || !is_plain(q) || q->until != PROFILE_NO_TIME ||
	    p->settings->time_unit == TIME_BYTES)
		return 0;
	p->time_shift = mst_reader_time_shift(reader);
	const int got = mst_reader_seek(reader, is_before_moment, p, &keyframe);
	if (got != 1)
		return got;
	mst_reader_kinds(reader, &n_kinds);
	if (!reserve_kinds(p, n_kinds))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < keyframe.n; i++) {
		const uint32_t id = first_row(p, keyframe.live[i].kind);
		if (id == NO_ROW)
			return MST_ERR_NOMEM;
		p->rows[id].live = (uint64_t)keyframe.live[i].blocks;
	}
	return 0;
}

struct observer *profile_observer(struct profile *p)
{
	return &p->observer;
}

/* ---- The result ----------------------------------------------------------------------------- */

bool profile_row(const struct profile *p, size_t i, struct profile_row *row)
{
	if (i >= p->n_rows)
		return false;
	const struct row *r = &p->rows[i];
	const bool told = p->query->threads && p->any_thread && !p->lacks_threads;
	*row = (struct profile_row){
		.kind = r->kind,
		.thread = told ? r->thread : PROFILE_NO_THREAD,
		.allocated = r->allocated,
		/* Without a mark there was no peak: nothing was ever live. */
		.inuse = p->mark == 0         ? 0
			 : r->mark == p->mark ? r->moment
					      : r->live,
		.at_end = r->live,
	};
	return true;
}

uint64_t profile_row_value(const struct profile_row *row, uint64_t size, enum profile_value value)
{
	switch (value) {
	case PROFILE_INUSE_BYTES:
		return row->inuse * size;
	case PROFILE_INUSE_OBJECTS:
		return row->inuse;
	case PROFILE_ALLOC_BYTES:
		return row->allocated * size;
	case PROFILE_ALLOC_OBJECTS:
	case PROFILE_VALUES:
		break;
	}
	return row->allocated;
}

bool profile_lacks_threads(const struct profile *p)
{
	return p->lacks_threads;
}

uint64_t profile_end_ns(const struct profile *p)
{
	return p->now_ns;
}
