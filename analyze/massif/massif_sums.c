/* SPDX-License-Identifier: MIT */
#include "massif_state.h"

/* Where a chunk begins. */
struct outset {
	uint64_t total, clock;
};

static uint64_t clock_behind(const struct settings *s, const struct mst_reader *reader,
			     const struct mst_chunk *chunk, uint64_t clock, const struct bounds *bounds)
{
	if (s->time_unit == TIME_BYTES)
		return clock + bounds->clock;
	if (s->time_unit == TIME_INSTRUCTIONS)
		return chunk->last_count;
	return (chunk->last_time << mst_reader_time_shift(reader)) / NS_PER_MS;
}

/*
 * Whether no snapshot can lie in the chunk, nor a moment that is asked for. Totals far beyond all memory are a
 * hostile trace's, and might wrap.
 */
static bool is_uneventful(const struct massif *m, struct outset now, uint64_t clock, uint64_t rise)
{
	const uint64_t highest = now.total + rise;

	if ((int64_t)now.total > INT64_MAX / 4 || (int64_t)now.total < INT64_MIN / 4)
		return false;
	if (positive(highest) > m->marks.highest)
		return false;
	return clock >= now.clock && clock < m->snapshots.earliest && clock <= m->marks.next_time &&
	       positive(highest) <= m->snapshots.peak_limit;
}

/* Finds out what the chunk does: of most, by its sums alone. */
static bool find_leap(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (bounds_sizes_sane(&m->sizes, kinds, n_kinds) && bounds_needs_no_tokens(m->settings)) {
		massif_enter_chunk(m, reader, chunk);
		m->bounds = bounds_by_sums(m->settings, &chunk->sums);
		m->plain = m->bounds.known;
	}
	if (!m->plain && massif_begin_chunk(m, reader, chunk))
		m->bounds = bounds_over(m->settings, chunk, kinds, m->effects);
	return m->plain || (m->prepared && m->bounds.known);
}

/* Whether sums never suffice. */
static bool needs_records(const struct massif *m, const struct mst_reader *reader,
			  const struct mst_chunk *chunk)
{
	const struct settings *s = m->settings;

	return !s->heap || chunk->base || m->depths || m->by_record || m->chronicle ||
	       s->compat != COMPAT_FIXED || s->pages_as_heap || mst_reader_info(reader)->sample_bytes;
}

bool massif_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;
	const struct counters *now = &m->counters;

	m->plain = false;
	if (!m->settings->heap && !m->depths)
		return true;
	if (needs_records(m, reader, chunk) || !find_leap(m, reader, chunk))
		return false;
	return is_uneventful(m, (struct outset){ now->total, now->clock },
			     clock_behind(m->settings, reader, chunk, now->clock, &m->bounds),
			     m->bounds.rise);
}

/* How many snapshots there will have been when the clock shows that, if each is taken as early as can be. */
static uint64_t snapshots_until(const struct massif *m, uint64_t clock)
{
	if (clock < m->snapshots.earliest)
		return 0;
	return m->snapshots.min_interval ? 1 + (clock - m->snapshots.earliest) / m->snapshots.min_interval
					 : UINT64_MAX;
}

/* What a new peak must exceed behind chunks whose total got so high. */
static uint64_t coming_limit(const struct massif *m, uint64_t reached)
{
	const uint64_t limit = m->snapshots.peak_limit;

	if ((int64_t)reached < 0 || reached <= limit)
		return limit;
	return reached + (uint64_t)((double)reached * m->settings->peak_inaccuracy / 100);
}

/* The chunks that come before this one will have taken snapshots of their own. */
static bool is_eventful(const struct massif *m, const struct mst_reader *reader,
			const struct mst_chunk *chunk, const struct mst_sums *before)
{
	const struct settings *s = m->settings;
	const struct bounds past = bounds_by_sums(s, before), bounds = bounds_by_sums(s, &chunk->sums);
	const uint64_t total = m->counters.total + past.total, highest = positive(total + bounds.rise);
	const uint64_t reached = m->counters.total + past.rise;
	const unsigned shift = mst_reader_time_shift(reader);
	uint64_t begin = (chunk->first_time << shift) / NS_PER_MS;

	if (s->time_unit == TIME_BYTES)
		begin = m->counters.clock + past.clock;
	else if (s->time_unit == TIME_INSTRUCTIONS)
		begin = chunk->first_count;
	const uint64_t end = clock_behind(s, reader, chunk, begin, &bounds);

	return (highest > m->marks.highest && highest > positive(reached)) ||
	       (end > m->marks.next_time && begin <= m->marks.next_time) ||
	       highest > coming_limit(m, reached) || snapshots_until(m, begin) == UINT64_MAX ||
	       snapshots_until(m, end) > snapshots_until(m, begin);
}

int massif_foresee(const struct observer *observer, const struct mst_reader *reader,
		   const struct mst_chunk *chunk, const struct mst_sums *before)
{
	const struct massif *m = (const struct massif *)observer;

	if (!m->settings->heap && !m->depths)
		return 0;
	if (needs_records(m, reader, chunk))
		return 1;
	return bounds_needs_no_tokens(m->settings) ? is_eventful(m, reader, chunk, before) : -1;
}

/* Brings the live blocks to what they are after the chunk, whose tokens have not been looked at. False: no memory. */
static bool apply_tokens(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n_kinds);

	if (!live_totals_reserve(&m->live, n_kinds))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const int64_t change = token->role == MST_ALLOC ? token->count : -(int64_t)token->count;

		if (token->role == MST_CALL || token->role == MST_KEEP)
			continue;
		if (!live_totals_place(&m->live, m->reader, token->kind, &kinds[token->kind]))
			return false;
		if (live_totals_counted(&m->live, token->kind)) {
			live_totals_add(&m->live, token->kind, false, change);
			m->bounds.changes = true;
		}
	}
	return true;
}

int massif_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;

	(void)reader;
	if (!m->settings->heap)
		return 0;
	if (m->plain && !apply_tokens(m))
		return MST_ERR_NOMEM;
	if (!m->plain)
		massif_apply_records(m, chunk->n_records);
	m->counters.clock = clock_behind(m->settings, m->reader, chunk, m->counters.clock, &m->bounds);
	m->counters.useful += m->bounds.useful;
	m->counters.total += m->bounds.total;
	m->counters.changes += m->bounds.changes;
	m->prepared = false;
	return 0;
}

/* ---- parts of a trace ---- */

/* Whether all that is asked for are times, which have passed. */
bool massif_satisfied(const struct observer *observer)
{
	const struct massif *m = (const struct massif *)observer;

	return m->settings->only_moments && m->marks.n_times == m->settings->n_ats &&
	       m->marks.taken == m->marks.n_times;
}

/* Snapshots that Massif would have taken are of no use then, nor what came before. */
bool massif_can_enter(const struct settings *s, const struct mst_reader *reader)
{
	if (!s->only_moments || !s->heap || s->stacks || s->pages_as_heap || s->compat != COMPAT_FIXED ||
	    s->stats || s->usable == USABLE_VALGRIND || s->xtree_memory != XTREE_NONE)
		return false;
	for (size_t i = 0; i < s->n_ats; i++) {
		if (s->ats[i].what == AT_ALL || s->ats[i].kind == AT_PEAK)
			return false;
	}
	/* The clock of bytes is that of all calls, one by one: sums have it for what most ask for. */
	return s->time_unit != TIME_BYTES || (s->usable == USABLE_ROUNDED && s->alignment == 16 &&
					      s->ignore_fns.n == 0 && !mst_reader_info(reader)->sample_bytes);
}

static uint64_t clock_at(const struct settings *s, const struct mst_keyframe *keyframe, unsigned time_shift)
{
	if (s->time_unit == TIME_BYTES)
		return keyframe->sums.moved16 + s->heap_admin * keyframe->sums.changes;
	if (s->time_unit == TIME_INSTRUCTIONS)
		return keyframe->instructions;
	return (keyframe->time << time_shift) / NS_PER_MS;
}

bool massif_before(const struct settings *s, const struct mst_keyframe *keyframe, unsigned time_shift)
{
	for (size_t i = 0; i < s->n_ats; i++) {
		if (s->ats[i].kind == AT_TIME && s->ats[i].time < clock_at(s, keyframe, time_shift))
			return false;
	}
	return true;
}

bool massif_enter(struct massif *m, const struct mst_reader *reader, const struct mst_keyframe *keyframe)
{
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (!live_totals_reserve(&m->live, n_kinds))
		return false;
	for (uint32_t i = 0; i < keyframe->n; i++) {
		const struct mst_live *live = &keyframe->live[i];
		const struct mst_kind *kind = &kinds[live->kind];
		struct effect e;

		if (!live_totals_place(&m->live, reader, live->kind, kind))
			return false;
		e = effect_of(m->settings, kind, MST_ALLOC, live_totals_counted(&m->live, live->kind),
			      effect_usable(m->settings, kind), mean);
		live_totals_add(&m->live, live->kind, true, e.live * live->blocks);
		if (e.counted) {
			m->counters.useful += e.useful * (uint64_t)live->blocks;
			m->counters.total += e.total * (uint64_t)live->blocks;
		}
	}
	m->reader = reader;
	m->mean = mean;
	m->counters.clock = clock_at(m->settings, keyframe, mst_reader_time_shift(reader));
	return true;
}
