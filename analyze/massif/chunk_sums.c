/* SPDX-License-Identifier: MIT */
/*
 * A whole chunk accounted by its sums, where nothing can happen in it: no snapshot is due, no request, no peak.
 */
#include "massif_state.h"

/*
 * Whether neither a snapshot nor a request can be due in the chunk; `clock`: what the clock shows behind it. Totals far
 * beyond all memory are a hostile trace's and might wrap.
 */
static bool is_uneventful(const struct massif *m, uint64_t clock, uint64_t rise)
{
	const struct counters *now = &m->counters;
	const uint64_t highest = now->total + rise;

	if ((int64_t)now->total > INT64_MAX / 4 || (int64_t)now->total < INT64_MIN / 4)
		return false;
	if (positive(highest) > m->requested.highest)
		return false;
	return clock >= now->clock && clock < m->snapshots.earliest && clock <= m->requested.next_time &&
	       positive(highest) <= m->snapshots.peak_limit;
}

/* Finds what the chunk does: for most settings from its sums alone. False: unknown, or no memory. */
static bool find_bounds(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (bounds_sizes_sane(&m->sums.sizes, kinds, n_kinds) && bounds_needs_no_tokens(m->settings)) {
		massif_enter_chunk(m, reader, chunk);
		m->sums.bounds = bounds_by_sums(m->settings, &chunk->sums);
		m->sums.plain = m->sums.bounds.known;
	}
	if (!m->sums.plain && massif_begin_chunk(m, reader, chunk))
		m->sums.bounds = bounds_over(m->settings, chunk, kinds, m->tokens.effects);
	return m->sums.plain || (m->tokens.ready && m->sums.bounds.known);
}

/* Whether a mark that is asked for lies in the chunk. */
static bool has_mark(const struct massif *m, const struct mst_chunk *chunk)
{
	return m->requested.next_mark < chunk->first_record + chunk->n_records;
}

/* Whether sums never suffice. A sample's sums are those of the recorded blocks, not of what they stand for. */
static bool needs_records(const struct massif *m, const struct mst_reader *reader,
			  const struct mst_chunk *chunk)
{
	const struct settings *s = m->settings;

	return !s->heap || chunk->initial || m->depths || m->block_effects.sizes || m->log ||
	       s->compat != COMPAT_FIXED || s->pages_as_heap || mst_reader_info(reader)->sample_bytes;
}

bool massif_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;

	m->sums.plain = false;
	if (!m->settings->heap && !m->depths)
		return true;
	if (needs_records(m, reader, chunk) || has_mark(m, chunk) || !find_bounds(m, reader, chunk))
		return false;
	return is_uneventful(m, clock_behind(&m->clock, m->counters.clock, m->sums.bounds.clock),
			     m->sums.bounds.rise);
}

/* Applies the tokens of a chunk, which have not been looked at. False: no memory. */
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
			m->sums.bounds.changes = true;
		}
	}
	return true;
}

int massif_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;

	(void)reader;
	massif_note_requests(m);
	if (!m->settings->heap)
		return 0;
	if (m->sums.plain && !apply_tokens(m))
		return MST_ERR_NOMEM;
	if (!m->sums.plain)
		massif_apply_records(m, chunk->n_records);
	assert(!m->log && !m->depths && !m->pages.mapped && m->sums.bounds.known);
	m->counters.clock = clock_behind(&m->clock, m->counters.clock, m->sums.bounds.clock);
	m->counters.useful += m->sums.bounds.useful;
	m->counters.total += m->sums.bounds.total;
	m->counters.changes += m->sums.bounds.changes;
	m->tokens.ready = false;
	return 0;
}

/* Whether all that is asked for are times, which have passed. */
bool massif_satisfied(const struct observer *observer)
{
	const struct massif *m = (const struct massif *)observer;

	return m->settings->only_moments && requested_satisfied(&m->requested);
}
