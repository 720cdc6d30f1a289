/* SPDX-License-Identifier: MIT */
#include "massif_state.h"

static uint64_t clock_behind(const struct massif *m)
{
	if (m->settings->time_unit == TIME_BYTES)
		return m->counters.clock + m->leap.clock;
	if (m->settings->time_unit == TIME_INSTRUCTIONS)
		return m->chunk->last_count;
	return (m->chunk->last_time << mst_reader_time_shift(m->reader)) / NS_PER_MS;
}

/*
 * Whether no snapshot can lie in the chunk, nor a moment that is asked for. Totals far beyond all memory are a
 * hostile trace's, and might wrap.
 */
static bool is_uneventful(const struct massif *m)
{
	const struct counters *now = &m->counters;
	const uint64_t clock = clock_behind(m), highest = now->total + m->leap.rise;

	if ((int64_t)now->total > INT64_MAX / 4 || (int64_t)now->total < INT64_MIN / 4)
		return false;
	if (massif_positive(highest) > m->marks.highest && massif_positive(highest) >= m->peak_floor)
		return false;
	return clock >= now->clock && clock < m->snapshots.earliest && clock <= m->marks.next_time &&
	       massif_positive(highest) <= m->snapshots.peak_limit;
}

bool massif_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;
	const struct settings *s = m->settings;
	uint32_t n_kinds;

	if (!s->heap && !m->depths)
		return true;
	if (!s->heap || chunk->base || m->depths || m->by_record || m->chronicle ||
	    s->compat != COMPAT_FIXED || s->pages_as_heap || mst_reader_info(reader)->sample_bytes)
		return false;
	if (!massif_begin_chunk(m, reader, chunk))
		return false;
	m->leap = leap_over(s, chunk, mst_reader_kinds(reader, &n_kinds), m->effects);
	return m->leap.known && is_uneventful(m);
}

int massif_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;

	(void)reader;
	if (!m->settings->heap)
		return 0;
	m->counters.clock = clock_behind(m);
	m->counters.useful += m->leap.useful;
	m->counters.total += m->leap.total;
	m->counters.changes += m->leap.changes;
	massif_apply_records(m, chunk->n_records);
	m->prepared = false;
	return 0;
}
