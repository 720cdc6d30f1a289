/* SPDX-License-Identifier: MIT */
#include "profile.h"

#include <assert.h>
#include <stdlib.h>

#include "check.h"
#include "identity.h"
#include "profile_state.h"

const char *const profile_value_names[PROFILE_VALUES] = {
	[PROFILE_INUSE_BYTES] = "inuse_bytes",
	[PROFILE_INUSE_OBJECTS] = "inuse_objects",
	[PROFILE_ALLOC_BYTES] = "alloc_bytes",
	[PROFILE_ALLOC_OBJECTS] = "alloc_objects",
};

/* ---- Which chunks can do without records ---- */

/* Whether a record that is asked for, a mark's or the first whose allocations count, lies in the present chunk. */
static bool waits_for_record(const struct profile *p)
{
	const struct profile_query *q = p->query;
	const uint64_t end = p->clock.chunk->first_record + p->clock.chunk->n_records;
	return (q->at.kind == AT_MARK && !p->passed && q->at.record < end) ||
	       (q->alloc_record && !p->allocs_begun && q->alloc_record < end);
}

bool profile_is_timeless(const struct profile *p)
{
	const struct profile_query *q = p->query;
	const bool allocs = q->alloc_from && !p->allocs_begun;
	const bool waits =
		!p->begun || q->until != PROFILE_NO_TIME || (q->at.kind == AT_TIME && !p->passed) || allocs;
	if (waits_for_record(p))
		return false;
	if (!waits)
		return true;
	if (!p->begun || clock_counts_changes(p->settings))
		return false;
	const uint64_t last = clock_behind(&p->clock, 0, 0);
	return last <= q->until && (q->at.kind != AT_TIME || p->passed || last <= q->at.time) &&
	       (!allocs || last < q->alloc_from);
}

/* True if all rows are the first thread's, or threads are not wanted. */
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
			p->table.first_thread = chunk->runs[i].thread;
		p->any_thread = true;
		p->many_threads = chunk->runs[i].thread != p->table.first_thread;
	}
	return !p->many_threads;
}

/* True if no single record matters, except the one at the peak. */
static bool is_simple(struct profile *p, const struct mst_chunk *chunk)
{
	return is_one_thread(p, chunk) && profile_is_timeless(p) && p->first_block == 0;
}

uint64_t profile_record_ns(const struct profile *p, const struct mst_chunk *chunk, uint32_t record)
{
	uint32_t from = 0, to = chunk->n_stamps;
	/* The last stamp at `record` or before it. */
	while (to - from > 1) {
		const uint32_t middle = from + (to - from) / 2;
		if (chunk->stamps[middle].record <= record)
			from = middle;
		else
			to = middle;
	}
	return (to ? chunk->stamps[from].time : chunk->first_time) << p->time_shift;
}

/* ---- The observer ---- */

static void begin_chunk(struct profile *p, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n_kinds;
	p->kinds = mst_reader_kinds(reader, &n_kinds);
	p->mean = mst_reader_info(reader)->sample_bytes;
	p->time_shift = mst_reader_time_shift(reader);
	clock_enter_chunk(&p->clock, reader, chunk);
	p->initial = chunk->initial;
}

/* True if sums can answer. Several threads, and blocks older than `from`, need records. */
static bool is_plain(const struct profile_query *query)
{
	return (!query->threads || query->one_thread) && !profile_has_from(query);
}

static bool profile_sums_suffice(struct observer *observer, const struct mst_reader *reader,
				 const struct mst_chunk *chunk)
{
	struct profile *p = (struct profile *)observer;
	begin_chunk(p, reader, chunk);
	return is_plain(p->query) && is_simple(p, chunk) && !profile_can_peak(p, chunk);
}

static int profile_chunk(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct profile *p = (struct profile *)observer;
	uint32_t n_kinds;
	mst_reader_kinds(reader, &n_kinds);
	begin_chunk(p, reader, chunk);
	if (!row_table_reserve(&p->table, n_kinds))
		return MST_ERR_NOMEM;
	if (chunk_lacks_identity(chunk)) {
		if (profile_has_from(p->query))
			return MST_ERR_IDENTITY;
		p->lacks_threads = !is_thread_known(p);
	}
	return is_simple(p, chunk) ? profile_add_sums(p, chunk) : profile_add_records(p, chunk);
}

/* Chunks after `until`, or after the point alone, change nothing. */
static bool profile_satisfied(const struct observer *observer)
{
	const struct profile *p = (const struct profile *)observer;
	return p->ended || (p->query->point_alone && p->passed);
}

/* Whether the point is a time or a mark. */
static bool is_point(const struct profile_query *query)
{
	return query->at.kind == AT_TIME || query->at.kind == AT_MARK;
}

/* Without a window and a key frame, the total is that of all live blocks. */
static void check_total(const struct profile *p)
{
	uint64_t total = 0;
	for (uint32_t i = 0; i < p->table.n; i++)
		total += p->table.rows[i].live * profile_weight(p, p->table.rows[i].kind);
	assert(profile_has_from(p->query) || is_point(p->query) || total == p->total);
	(void)total;
}

static int profile_end(struct observer *observer, const struct mst_reader *reader)
{
	struct profile *p = (struct profile *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	uint32_t n_kinds;
	if (end && !p->ended && end->time_ns > p->now_ns)
		p->now_ns = end->time_ns;
	if (p->query->at.kind == AT_END || (is_point(p->query) && !p->passed)) {
		p->table.point++;
		p->point_ns = p->now_ns;
	}
	if (!p->allocs_begun)
		profile_begin_allocs(p);
	p->kinds = mst_reader_kinds(reader, &n_kinds);
	if (check_wanted())
		check_total(p);
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
	clock_init(&p->clock, settings);
	p->begun = !profile_has_from(query);
	p->allocs_begun = !query->alloc_from && !query->alloc_record;
	p->any_thread = query->one_thread;
	p->observer.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_AGES |
			     (is_plain(query) ? MST_THREADS | MST_IDENTITY : 0);
	return p;
}

void profile_destroy(struct profile *p)
{
	if (!p)
		return;
	row_table_finish(&p->table);
	block_map_finish(&p->other_blocks);
	free(p->tokens.changes);
	free(p->tokens.counts);
	free(p);
}

/* ---- Seeking to a point ---- */

static bool is_before_point(const struct mst_keyframe *keyframe, void *context)
{
	const struct profile *p = context;
	if (p->query->at.kind == AT_MARK)
		return keyframe->records <= p->query->at.record;
	return clock_at_keyframe(p->settings, keyframe, p->time_shift) <= p->query->at.time;
}

int profile_seek(struct profile *p, struct mst_reader *reader)
{
	const struct profile_query *q = p->query;
	struct mst_keyframe keyframe;
	uint32_t n_kinds;
	/* A key frame lacks the clock of bytes, which adds up all calls before it. */
	if (!q->point_alone || !is_point(q) || !is_plain(q) || q->until != PROFILE_NO_TIME ||
	    clock_counts_changes(p->settings))
		return 0;
	p->time_shift = mst_reader_time_shift(reader);
	const int got = mst_reader_seek(reader, is_before_point, p, &keyframe);
	if (got != 1)
		return got;
	mst_reader_kinds(reader, &n_kinds);
	if (!row_table_reserve(&p->table, n_kinds))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < keyframe.n; i++) {
		const uint32_t id = row_table_first(&p->table, keyframe.live[i].kind);
		if (id == NO_ROW)
			return MST_ERR_NOMEM;
		p->table.rows[id].live = (uint64_t)keyframe.live[i].blocks;
	}
	return 0;
}

struct observer *profile_observer(struct profile *p)
{
	return &p->observer;
}

/* ---- The result ---- */

bool profile_row(const struct profile *p, size_t i, struct profile_row *row)
{
	if (i >= p->table.n)
		return false;
	const struct row *r = &p->table.rows[i];
	const bool known = p->query->threads && p->any_thread && !p->lacks_threads;
	*row = (struct profile_row){
		.kind = r->kind,
		.thread = known ? r->thread : PROFILE_NO_THREAD,
		.allocated = r->allocated,
		.inuse = row_table_live_then(&p->table, r),
		.at_end = r->live,
	};
	return true;
}

bool profile_lacks_threads(const struct profile *p)
{
	return p->lacks_threads;
}

uint64_t profile_last_time(const struct profile *p)
{
	return p->settings->time_unit == TIME_MS ? p->now_ns / 1000000 : p->now;
}

uint64_t profile_end_ns(const struct profile *p)
{
	return p->now_ns;
}

uint64_t profile_alloc_begin_ns(const struct profile *p)
{
	return p->alloc_begin_ns;
}

uint64_t profile_point_ns(const struct profile *p)
{
	return p->point_ns;
}
