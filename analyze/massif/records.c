/* SPDX-License-Identifier: MIT */
/*
 * Records accounted one by one, in Massif's order: what a record does is looked up in a table made for each chunk, by
 * token, or by record where that depends on single blocks.
 */
#include "massif_state.h"

/* ---- one record ---- */

static inline void add(struct counters *now, const struct effect *e)
{
	now->useful += e->useful;
	now->total += e->total;
	now->clock += e->clock;
	now->changes++;
}

uint64_t massif_change_of(const struct massif *m, const struct effect *old, const struct effect *now)
{
	const uint64_t change = old->total + now->total;

	return m->settings->compat == COMPAT_FIXED ? change
						   : block_effects_narrow(change, old->useful + now->useful);
}

/* A realloc of a counted block that stays counted; the call's records are `i` and the next one. */
static inline void resize(struct massif *m, struct counters *now, const struct effect *old,
			  const struct effect *other, uint32_t i)
{
	const uint64_t change = massif_change_of(m, old, other);
	const uint64_t old_size = -old->useful, size = other->useful;

	if (size < old_size)
		consider_peak(m, now, i);
	now->useful += old->useful + other->useful;
	now->total += change;
	now->changes++;
	now->clock += clock_ticks(m->settings, change);
	consider_normal(m, now, i + 2);
}

/* A call of two records. Going between ignored and counted is a free or an allocation. */
static inline void do_pair(struct massif *m, struct counters *now, const struct effect *old,
			   const struct effect *other, uint32_t i)
{
	const bool comes = other->comes && other->counted;

	if (old->counted && comes) {
		resize(m, now, old, other, i);
	} else if (old->counted) {
		consider_peak(m, now, i);
		add(now, old);
		consider_normal(m, now, i + 2);
	} else if (comes) {
		add(now, other);
		consider_normal(m, now, i + 2);
	}
}

/* What record `i` does. */
static inline const struct effect *effect_by(const struct massif *m, uint32_t i, bool by_record)
{
	return by_record ? &m->block_effects.effects[i] : &m->tokens.effects[m->chunk->records[i]];
}

struct effect massif_effect_at(const struct massif *m, uint32_t i)
{
	assert(i < m->chunk->n_records);
	return *effect_by(m, i, is_by_record(m));
}

/* How far the call whose first record is `i` will move the clock. */
static uint64_t ticks_at(const struct massif *m, uint32_t i)
{
	const struct effect e = massif_effect_at(m, i);
	struct effect other;

	if (e.action <= GOES)
		return e.clock;
	if (e.action != PAIR)
		return 0;
	other = massif_effect_at(m, i + 1);
	if (!other.comes || !other.counted)
		return e.counted ? e.clock : 0;
	return e.counted ? clock_ticks(m->settings, massif_change_of(m, &e, &other)) : other.clock;
}

/* ---- the log ---- */

static const struct mst_token *token_at(const struct massif *m, uint32_t i)
{
	return &m->chunk->tokens[m->chunk->records[i]];
}

/* Logs the call whose first or second record is `i`, before it happens. */
static void log_call(struct massif *m, uint32_t i)
{
	const struct mst_token *token = token_at(m, i);
	const struct effect e = massif_effect_at(m, i);
	const bool unknown = token->kind == MST_UNKNOWN_KIND ||
			     (m->block_effects.sizes && m->block_effects.blocks[i] == BLOCK_SIZES_FORGOTTEN);
	const bool second = i > 0 && token_at(m, i - 1)->role == MST_OUT;
	bool counted = e.counted;

	if (unknown || second || token->role == MST_CALL)
		return;
	if (token->role == MST_ALLOC) {
		event_log_call(m->log, EVENT_LOG_ALLOC, counted, !counted);
	} else if (token->role == MST_KEEP) {
		event_log_call(m->log, EVENT_LOG_REALLOC, counted, !counted);
	} else if (token->role == MST_OUT && massif_effect_at(m, i + 1).comes) {
		counted = counted && e.action != NOTHING;
		event_log_call(m->log, EVENT_LOG_REALLOC, counted,
			       !counted || !massif_effect_at(m, i + 1).counted);
	} else {
		counted = counted && e.action != NOTHING;
		event_log_call(m->log, EVENT_LOG_FREE, counted, !counted);
	}
}

/* ---- many records ---- */

/* What may be due at a record beside Massif's snapshots: requests, and lines of the log. */
static inline void begin_watched(struct massif *m, const struct counters *now, uint32_t i)
{
	consider_times(m, now, now->clock + ticks_at(m, i), i);
	if (m->log)
		log_call(m, i);
}

static inline void end_watched(struct massif *m, const struct counters *now, const struct effect *e,
			       bool changed, bool stored, uint32_t records)
{
	consider_true_peak(m, now, records);
	if (m->log && e->action != NOTHING && changed && !stored)
		event_log_skip(m->log);
}

/*
 * The records [i, end), at one time where the clock is recorded; returns the first one not done, end or end + 1.
 * Constant arguments make a short loop of it.
 */
static inline __attribute__((always_inline)) uint32_t run(struct massif *m, uint32_t i, uint32_t end,
							  bool by_record, bool watched)
{
	struct counters now = m->counters;

	assert(end <= m->chunk->n_records);
	for (; i < end; i++) {
		const uint64_t changes = now.changes, n_normal = m->n_normal;
		const struct effect *e = effect_by(m, i, by_record);

		if (watched)
			begin_watched(m, &now, i);
		if (e->action <= GOES) {
			/* In this order: the total is seldom above the limit, but any action is as likely. */
			if (now.total > m->snapshots.peak_limit && e->action == GOES)
				consider_peak(m, &now, i);
			add(&now, e);
			consider_normal(m, &now, i + 1);
		} else if (e->action == PAIR) {
			/* The reader has proved that there is a next record. */
			do_pair(m, &now, e, effect_by(m, i + 1, by_record), i);
			i++;
		} else if (by_record) {
			if (e->action == ABANDONS && effect_by(m, i + 1, by_record)->useful < -e->useful)
				consider_peak(m, &now, i);
			now.changes += e->counted && e->live != 0; /* in the trees alone */
		}
		if (watched)
			end_watched(m, &now, e, now.changes != changes, m->n_normal != n_normal, i + 1);
	}
	assert(i == end || i == end + 1);
	m->counters = now;
	return i;
}

static uint32_t run_span(struct massif *m, uint32_t i, uint32_t end)
{
	const bool watched = m->requested.peak_wanted || m->requested.next_time != UINT64_MAX || m->log;

	if (!is_by_record(m) && !watched)
		return run(m, i, end, false, false);
	return run(m, i, end, is_by_record(m), watched);
}

static void set_clock(struct massif *m, uint64_t clock, uint32_t i)
{
	consider_times(m, &m->counters, clock, i);
	m->counters.clock = clock;
}

/* Sets the clock to that of record `i`; returns the record at which it shows something else, or `end`. */
static uint32_t advance_clock(struct massif *m, uint32_t i, uint32_t end)
{
	set_clock(m, clock_at_record(&m->clock, i, m->counters.clock), i);
	return clock_span_end(&m->clock, i, end);
}

/* How many records are done one by one before the next try to pass over some. */
#define BURST 16u

static uint32_t run_burst(struct massif *m, uint32_t i, uint32_t end)
{
	while (i < end)
		i = run_span(m, i, advance_clock(m, i, end));
	return i;
}

/* The records [i, end): quiet spans added up, the others, a few at a time, one by one. */
static uint32_t run_until(struct massif *m, uint32_t i, uint32_t end)
{
	const bool quiet = m->quiet.possible;

	if (!m->settings->heap)
		return end;
	while (i < end) {
		if (quiet)
			i = massif_pass_quiet(m, i, end);
		if (quiet && i < end)
			i = massif_pass_fleeting(m, i, advance_clock(m, i, end));
		if (i < end)
			i = run_burst(m, i, quiet && end - i > BURST ? i + BURST : end);
	}
	return i;
}

/* The same with the marks that are asked for. */
static uint32_t run_marked(struct massif *m, uint32_t i, uint32_t end)
{
	const uint64_t first = m->chunk->first_record;

	while (m->requested.next_mark < first + end) {
		const uint64_t mark = m->requested.next_mark;

		if (mark > first + i)
			i = run_until(m, i, (uint32_t)(mark - first));
		consider_marks(m, &m->counters, i);
		assert(m->requested.next_mark > mark || m->requested.marks.taken == m->requested.marks.n);
	}
	return run_until(m, i, end);
}

/* ---- stacks ---- */

void massif_sp_change(struct massif *m, const struct sp_change *change, uint32_t i)
{
	const bool shrinks = (int64_t)change->grown < 0;
	const uint64_t n_normal = m->n_normal, ticks = clock_ticks(m->settings, change->grown);
	struct counters *now = &m->counters;

	assert(change->grown != 0 && m->depths);
	if (m->log)
		event_log_call(m->log, shrinks ? EVENT_LOG_STACK_DIES : EVENT_LOG_STACK_NEW, true, false);
	set_clock(m, clock_at_sp_change(&m->clock, change, i, now->clock), i);
	consider_times(m, now, now->clock + ticks, i);
	if (shrinks)
		consider_peak(m, now, i);
	now->clock += ticks;
	now->stacks += change->grown;
	now->total += change->grown;
	now->changes++;
	consider_normal(m, now, i);
	consider_true_peak(m, now, i);
	if (m->log && m->n_normal == n_normal)
		event_log_skip(m->log);
}

/* ---- a chunk ---- */

void massif_run_records(struct massif *m)
{
	const uint32_t end = m->chunk->n_records;
	struct sp_cursor cursor = { 0 };
	struct sp_change change;
	uint32_t i = 0;

	massif_begin_quiet(m);
	while (m->depths && stack_depth_next(m->depths, &cursor, &change)) {
		assert(change.record <= end);
		i = run_marked(m, i, change.record);
		massif_sp_change(m, &change, i);
	}
	run_marked(m, i, end);
	set_clock(m, clock_at_end(&m->clock, m->counters.clock), end);
}
