/* SPDX-License-Identifier: MIT */
/*
 * Where a replay begins: with the initial state of a trace that begins later than its program, or at a key frame.
 */
#include <stdlib.h>

#include "massif_state.h"

/* ---- an initial state ---- */

/* The first snapshot shows the trace's beginning; in a cut trace there are blocks already. */
static void restart(struct massif *m, uint32_t records)
{
	struct snapshot *first = &m->snapshots.items[0];
	struct snapshot now = snapshot_of(SNAPSHOT_NORMAL, &m->counters, records);

	if (m->snapshots.n == 0) {
		massif_store(m, SNAPSHOT_NORMAL, &m->counters, records);
		return;
	}
	now.detailed = first->detailed;
	free(first->live);
	*first = now;
	assert(m->snapshots.n == 1 && first->kind == SNAPSHOT_NORMAL);
	m->snapshots.earliest = m->counters.clock + m->snapshots.min_interval;
	m->took_snapshots = true;
}

static void take_blocks(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;

	/* Contexts that are empty by now have been allocated from. */
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		live_totals_add(&m->live, chunk->tokens[i].kind, chunk->tokens[i].role == MST_ALLOC, 0);
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const struct effect e = massif_effect_at(m, i);

		m->counters.useful += e.counted ? e.useful : 0;
		m->counters.total += e.counted ? e.total : 0;
	}
}

int massif_take_initial_state(struct massif *m)
{
	assert(m->chunk->initial);
	const struct mst_chunk *chunk = m->chunk;
	struct sp_cursor cursor = { 0 };
	struct sp_change change;
	struct counters *now = &m->counters;
	int err = 0;

	now->clock = clock_at_start(&m->clock, m->reader, now->clock);
	if (m->pages.mapped)
		err = massif_take_pages(m);
	else if (m->settings->heap)
		take_blocks(m);
	while (m->depths && stack_depth_next(m->depths, &cursor, &change)) {
		now->stacks += change.grown;
		now->total += change.grown;
	}
	now->changes++;
	restart(m, chunk->n_records);
	consider_true_peak(m, now, chunk->n_records);
	return err;
}

/* ---- a key frame ---- */

/* Needs neither Massif's own snapshots nor anything from before the key frame. */
bool massif_can_enter(const struct settings *s, const struct mst_reader *reader)
{
	if (!s->only_moments || !s->heap || s->stacks || s->pages_as_heap || s->compat != COMPAT_FIXED ||
	    s->stats || s->usable == USABLE_VALGRIND || s->xtree_memory != XTREE_NONE)
		return false;
	for (size_t i = 0; i < s->n_ats; i++) {
		if (s->ats[i].what == AT_ALL || s->ats[i].kind == AT_PEAK)
			return false;
	}
	/* Sums have the clock of bytes only for these settings: it depends on each single call. */
	return !clock_counts_changes(s) || (s->usable == USABLE_ROUNDED && s->alignment == 16 &&
					    s->ignore_fns.n == 0 && !mst_reader_info(reader)->sample_bytes);
}

bool massif_before(const struct settings *s, const struct mst_keyframe *keyframe, unsigned time_shift)
{
	for (size_t i = 0; i < s->n_ats; i++) {
		const struct at *at = &s->ats[i];

		if (at->kind == AT_TIME && at->time < clock_at_keyframe(s, keyframe, time_shift))
			return false;
		if (at->kind == AT_MARK && at->record < keyframe->records)
			return false;
	}
	return true;
}

bool massif_enter(struct massif *m, const struct mst_reader *reader, const struct mst_keyframe *keyframe)
{
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	assert(m->settings->only_moments && !m->chunk);
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
	m->counters.clock = clock_at_keyframe(m->settings, keyframe, mst_reader_time_shift(reader));
	return true;
}
