/* SPDX-License-Identifier: MIT */
/*
 * Massif's counters over a trace. What a record does to them is looked up in a table made for each
 * chunk: by token, or by record where that depends on single blocks. A snapshot only notes the
 * numbers and its place in the chunk; for those that are left at the chunk's end and need a tree,
 * live blocks are counted by kind up to that place.
 */
#include "massif_state.h"

#include <stdlib.h>
#include <string.h>

#include "event_log.h"

/* ---- snapshots ---- */

__attribute__((noinline)) void massif_store(struct massif *m, enum snapshot_kind kind, struct counters now,
					    uint32_t records)
{
	const struct snapshot s = snapshot_of(kind, &now, records);

	snapshots_store(&m->snapshots, &s);
	m->took_snapshots = true;
	m->n_normal += kind == SNAPSHOT_NORMAL;
}

/* ---- live blocks ---- */

/* Where effects come from: tokens say it all, or all but what single blocks take, or the ledger lists them. */
enum source { SYMBOLS, BLOCKS, LEDGER };

static enum source source_of(const struct massif *m)
{
	if (!m->by_record)
		return SYMBOLS;
	return block_effects_lists(&m->ledger) ? LEDGER : BLOCKS;
}

/* One by one, in their order. */
static void apply_effects(struct massif *m, uint32_t n)
{
	const struct mst_chunk *chunk = m->chunk;

	for (; m->applied < n; m->applied++)
		live_totals_add(&m->live, chunk->tokens[chunk->records[m->applied]].kind, false,
				m->ledger.effects[m->applied].live);
}

/* Has so many more records of the token applied. */
static void apply_token(struct massif *m, uint32_t token, uint32_t n)
{
	live_totals_add(&m->live, m->chunk->tokens[token].kind, false, m->effects[token].live * (int64_t)n);
	m->tallies[token].applied += n;
}

/* Counts the records [i, end) by token. In turn, for the same one often comes twice in a row. */
static void count(struct massif *m, uint32_t i, uint32_t end)
{
	const uint16_t *records = m->chunk->records;
	struct tally *tallies = m->tallies;

	for (; i + 2 <= end; i += 2) {
		tallies[records[i]].counted[0]++;
		tallies[records[i + 1]].counted[1]++;
	}
	if (i < end)
		tallies[records[i]].counted[0]++;
}

/* Counts records by token first: there are far fewer of these, as a rule. Those on the shorter side of `n` suffice. */
static void apply_tallies(struct massif *m, uint32_t n)
{
	const struct mst_chunk *chunk = m->chunk;
	const bool rest = chunk->n_records - n < n - m->applied;
	struct tally *tallies = m->tallies;

	if (m->applied == 0)
		memset(tallies, 0, chunk->n_tokens * sizeof(*tallies));
	if (!rest && n - m->applied < chunk->n_tokens) {
		for (uint32_t i = m->applied; i < n; i++)
			apply_token(m, chunk->records[i], 1);
		m->applied = n;
		return;
	}
	count(m, rest ? n : m->applied, rest ? chunk->n_records : n);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const uint32_t counted = tallies[i].counted[0] + tallies[i].counted[1];
		const uint32_t more = rest ? chunk->tokens[i].count - tallies[i].applied - counted : counted;

		if (more)
			apply_token(m, i, more);
		tallies[i].counted[0] = tallies[i].counted[1] = 0;
	}
	m->applied = n;
}

/* Brings the live blocks to what they are after the first `n` records of the chunk. */
void massif_apply_records(struct massif *m, uint32_t n)
{
	if (m->pages || n <= m->applied)
		return;
	if (source_of(m) == LEDGER)
		apply_effects(m, n);
	else
		apply_tallies(m, n);
}

/* Of the pages, or of the blocks as they are applied. NULL: no memory. */
static struct live *copy_live(const struct massif *m)
{
	return m->pages ? massif_copy_pages(m) : live_totals_copy(&m->live);
}

/* For the present chunk's marks, up to the one after `until` records. False: no memory. */
bool massif_fill_marks(struct massif *m, uint32_t until)
{
	struct snapshot *mark;

	while ((mark = requested_pending(&m->marks)) && mark->records <= until) {
		struct live *live;

		if (m->settings->heap)
			massif_apply_records(m, mark->records);
		live = m->settings->heap ? copy_live(m) : NULL;
		if (!live && m->settings->heap)
			return false;
		requested_fill(&m->marks, mark, live);
	}
	return true;
}

/* For the present chunk's snapshots, which are in the order of their moments. False: no memory. */
bool massif_fill_detailed(struct massif *m)
{
	struct snapshots *all = &m->snapshots;

	if (!m->took_snapshots || !m->settings->heap)
		return true;
	for (size_t i = 0; i < all->n; i++) {
		struct snapshot *s = &all->items[i];

		if (!s->detailed || s->live)
			continue;
		if (!massif_fill_marks(m, s->records))
			return false;
		if (m->chunk)
			massif_apply_records(m, s->records);
		s->live = copy_live(m);
		if (!s->live)
			return false;
	}
	m->took_snapshots = false;
	return true;
}

/* ---- moments that were asked for ---- */

/* The stored snapshots as they are after the first records of the chunk. */
void massif_keep_all(struct massif *m)
{
	if (!massif_fill_detailed(m) ||
	    !requested_copy_all(&m->marks, m->marks.taken, m->snapshots.items, m->snapshots.n))
		m->failed = true;
}

/* ---- records ---- */

static inline void add(struct counters *now, const struct effect *e)
{
	now->useful += e->useful;
	now->total += e->total;
	now->clock += e->clock;
	now->changes++;
}

/* The change of the total by a realloc of a counted block that stays counted. */
static inline uint64_t change_of(const struct massif *m, const struct effect *old, const struct effect *new)
{
	const uint64_t change = old->total + new->total;

	return m->settings->compat == COMPAT_FIXED ? change
						   : block_effects_narrow(change, old->useful + new->useful);
}

static inline void resize(struct massif *m, struct counters *now, const struct effect *old,
			  const struct effect *new, uint32_t i)
{
	const uint64_t change = change_of(m, old, new), old_size = -old->useful, size = new->useful;

	if (size < old_size)
		consider_peak(m, now, i);
	now->useful += old->useful + new->useful;
	now->total += change;
	now->changes++;
	now->clock += ticks_of(m, change);
	consider_normal(m, now, i + 2);
}

/*
 * Two records, i and i + 1, that are one call. Going between ignored and counted is a free or an
 * allocation.
 */
static inline void do_pair(struct massif *m, struct counters *now, const struct effect *old,
			   const struct effect *new, uint32_t i)
{
	const bool comes = new->comes &&new->counted;

	if (old->counted && comes) {
		resize(m, now, old, new, i);
	} else if (old->counted) {
		consider_peak(m, now, i);
		add(now, old);
		consider_normal(m, now, i + 2);
	} else if (comes) {
		add(now, new);
		consider_normal(m, now, i + 2);
	}
}

static const struct mst_token *symbol_at(const struct massif *m, uint32_t i)
{
	return &m->chunk->tokens[m->chunk->records[i]];
}

/* In the present chunk. A constant source makes it a load or two. */
static inline struct effect effect_by(const struct massif *m, uint32_t i, enum source source)
{
	const uint16_t *records = m->chunk->records;
	struct effect e = source == LEDGER ? m->ledger.effects[i] : m->effects[records[i]];

	if (source != BLOCKS)
		return e;
	e = block_effects_effect(&m->ledger, records, m->effects, i);
	if (e.action == PAIR && block_effects_lacks(&m->ledger, records, m->effects, i))
		e.action = NOTHING;
	return e;
}

static struct effect effect_at(const struct massif *m, uint32_t i)
{
	return effect_by(m, i, source_of(m));
}

/* Tells the chronicle of the call whose first or second record is `i`, before it happens. */
static void announce(struct massif *m, uint32_t i)
{
	const struct mst_token *token = symbol_at(m, i);
	const struct effect e = effect_at(m, i);
	const bool unknown = token->kind == MST_UNKNOWN_KIND ||
			     (m->by_record && m->ledger.blocks[i] == BLOCK_SIZES_FORGOTTEN);
	const bool second = i > 0 && symbol_at(m, i - 1)->role == MST_OUT;
	bool counted = e.counted;

	if (unknown || second || token->role == MST_CALL)
		return;
	if (token->role == MST_ALLOC) {
		event_log_call(m->chronicle, EVENT_LOG_ALLOC, counted, !counted);
	} else if (token->role == MST_KEEP) {
		event_log_call(m->chronicle, EVENT_LOG_REALLOC, counted, !counted);
	} else if (token->role == MST_OUT && effect_at(m, i + 1).comes) {
		counted = counted && e.action != NOTHING;
		event_log_call(m->chronicle, EVENT_LOG_REALLOC, counted,
			       !counted || !effect_at(m, i + 1).counted);
	} else {
		counted = counted && e.action != NOTHING;
		event_log_call(m->chronicle, EVENT_LOG_FREE, counted, !counted);
	}
}

/* How far the call whose first record is `i` will move the clock. */
static uint64_t ticks_at(const struct massif *m, uint32_t i)
{
	const struct effect e = effect_at(m, i);
	struct effect new;

	if (e.action <= GOES)
		return e.clock;
	if (e.action != PAIR)
		return 0;
	new = effect_at(m, i + 1);
	if (!new.comes || !new.counted)
		return e.counted ? e.clock : 0;
	return e.counted ? ticks_of(m, change_of(m, &e, &new)) : new.clock;
}

/*
 * The records [i, end) of the chunk, at one time unless instructions are counted; returns the first one not
 * done, end or end + 1. Constant flags make several functions of it: what looks for marks, or at single
 * blocks, takes longer.
 */
static inline __attribute__((always_inline)) uint32_t run(struct massif *m, uint32_t i, uint32_t end,
							  enum source source, bool marking, bool counted)
{
	const uint64_t *instructions = m->chunk->instructions;
	struct counters now = m->counters;

	for (; i < end; i++) {
		const uint64_t changes = now.changes, n_normal = m->n_normal;
		const struct effect e = effect_by(m, i, source);
		struct effect next;

		if (marking) {
			consider_times(m, &now, counted ? instructions[i] : now.clock + ticks_at(m, i), i);
			if (m->chronicle)
				announce(m, i);
		}
		if (counted)
			now.clock = instructions[i];

		if (e.action <= GOES) {
			/* In this order: the total is seldom above the limit, but any action is as likely. */
			if (now.total > m->snapshots.peak_limit && e.action == GOES)
				consider_peak(m, &now, i);
			add(&now, &e);
			consider_normal(m, &now, i + 1);
		} else if (e.action == PAIR) {
			/* The reader has proved that there is a next record. */
			next = effect_by(m, i + 1, source);
			do_pair(m, &now, &e, &next, i);
			i++;
		} else if (source != SYMBOLS) {
			if (e.action == ABANDONS && effect_by(m, i + 1, source).useful < -e.useful)
				consider_peak(m, &now, i);
			now.changes += e.counted && e.live != 0; /* in the trees alone */
		}
		if (marking) {
			consider_peak_mark(m, &now, i + 1);
			if (m->chronicle && e.action != NOTHING && now.changes != changes &&
			    m->n_normal == n_normal)
				event_log_skip(m->chronicle);
		}
	}
	m->counters = now;
	return i;
}

static uint32_t run_records(struct massif *m, uint32_t i, uint32_t end)
{
	const bool marking = m->marks.peak_wanted || m->marks.next_time != UINT64_MAX || m->chronicle;
	const enum source source = source_of(m);

	if (m->settings->time_unit == TIME_INSTRUCTIONS)
		return run(m, i, end, source, marking, true);
	if (marking)
		return run(m, i, end, source, true, false);
	if (source == SYMBOLS)
		return run(m, i, end, SYMBOLS, false, false);
	return source == BLOCKS ? run(m, i, end, BLOCKS, false, false) : run(m, i, end, LEDGER, false, false);
}

static void set_clock(struct massif *m, uint64_t clock, uint32_t i)
{
	consider_times(m, &m->counters, clock, i);
	m->counters.clock = clock;
}

/* In ms: sets the clock to that of record `i`; returns the record at which it changes next, or `end`. */
static uint32_t pass_stamps(struct massif *m, uint32_t i, uint32_t end)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t next;

	m->stamp = stamp_at(m, i);
	set_clock(m, clock_of_stamp(m, m->stamp), i);
	for (next = m->stamp + 1; next < chunk->n_stamps && chunk->stamps[next].record < end; next++) {
		if (clock_of_stamp(m, next) != m->counters.clock)
			return chunk->stamps[next].record;
	}
	return end;
}

/* How many records are done one by one before it is tried again to pass over some. */
#define BURST 16u

/*
 * The records [i, end), in any unit of time: those in which nothing can happen added up, the others, a few at a
 * time, one by one.
 */
static uint32_t run_until(struct massif *m, uint32_t i, uint32_t end)
{
	if (!m->settings->heap)
		return end;
	while (i < end) {
		uint32_t until = end;

		if (m->lulls)
			i = massif_pass_lull(m, i, end);
		if (i >= end)
			break;
		if (is_in_ms(m))
			until = pass_stamps(m, i, end);
		if (m->lulls && is_in_ms(m))
			i = massif_pass_snapshots(m, i, until);
		if (m->lulls && until - i > BURST)
			until = i + BURST;
		i = run_records(m, i, until);
	}
	return i;
}

/* ---- stacks ---- */

/* Stacks grow or shrink before record `i`. */
void massif_stack_step(struct massif *m, const struct depth_step *step, uint32_t i)
{
	const bool shrinks = (int64_t)step->grown < 0;
	const uint64_t n_normal = m->n_normal, moved = shrinks ? -step->grown : step->grown;
	struct counters *now = &m->counters;

	if (is_in_ms(m))
		pass_stamps(m, i, i);
	if (m->chronicle)
		event_log_call(m->chronicle, shrinks ? EVENT_LOG_STACK_DIES : EVENT_LOG_STACK_NEW, true,
			       false);
	if (m->settings->time_unit == TIME_INSTRUCTIONS)
		set_clock(m, step->instructions, i);
	else if (m->settings->time_unit == TIME_BYTES)
		consider_times(m, now, now->clock + moved, i);
	if (shrinks)
		consider_peak(m, now, i);
	if (m->settings->time_unit == TIME_BYTES)
		now->clock += moved;
	now->stacks += step->grown;
	now->total += step->grown;
	now->changes++;
	consider_normal(m, now, i);
	consider_peak_mark(m, now, i);
	if (m->chronicle && m->n_normal == n_normal)
		event_log_skip(m->chronicle);
}

/* ---- chunks ---- */

static void run_chunk(struct massif *m)
{
	struct depths_cursor cursor = { 0 };
	struct depth_step step;
	uint32_t i = 0;

	m->stamp = 0;
	massif_begin_lulls(m);
	while (m->depths && depths_next(m->depths, &cursor, &step)) {
		i = run_until(m, i, step.record);
		massif_stack_step(m, &step, i);
	}
	run_until(m, i, m->chunk->n_records);
	if (is_in_ms(m))
		pass_stamps(m, m->chunk->n_records, m->chunk->n_records);
}

static bool reserve_effects(struct massif *m, uint32_t n)
{
	struct effect *effects;
	struct tally *tallies;
	struct sum *sums;

	if (n <= m->n_effects)
		return true;
	effects = realloc(m->effects, n * sizeof(*effects));
	if (!effects)
		return false;
	m->effects = effects;
	sums = realloc(m->sums, n * sizeof(*sums));
	if (!sums)
		return false;
	m->sums = sums;
	tallies = realloc(m->tallies, n * sizeof(*tallies));
	if (!tallies)
		return false;
	m->tallies = tallies;
	m->n_effects = n;
	return true;
}

/*
 * In the order of first use, which is what shown_stacks_find() asks for, and which tokens are in. What
 * is done with a block that Massif has forgotten is no use. False: no memory.
 */
static bool find_contexts(struct massif *m, const struct mst_kind *kinds)
{
	const struct mst_chunk *chunk = m->chunk;
	const bool by_record = m->by_record && !chunk->base && block_sizes_has_forgotten(m->ledger.usable);
	const uint64_t *blocks = by_record ? block_sizes_blocks(m->ledger.usable) : NULL;
	const uint32_t n = blocks ? chunk->n_records : chunk->n_tokens;

	for (uint32_t i = 0; i < n; i++) {
		const struct mst_token *token = &chunk->tokens[blocks ? chunk->records[i] : i];

		if (blocks && blocks[i] == BLOCK_SIZES_FORGOTTEN)
			continue;
		if (token->role != MST_CALL && token->role != MST_KEEP &&
		    !live_totals_place(&m->live, m->reader, token->kind, &kinds[token->kind]))
			return false;
	}
	return true;
}

static bool prepare_chunk(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n_kinds);

	if (!live_totals_reserve(&m->live, n_kinds) || !reserve_effects(m, chunk->n_tokens) ||
	    !find_contexts(m, kinds))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[token->kind];

		m->effects[i] =
			effect_of(m->settings, kind, token->role, live_totals_counted(&m->live, token->kind),
				  effect_usable(m->settings, kind), m->mean);
	}
	return !m->by_record || block_effects_begin(&m->ledger, chunk, m->effects);
}

/* The first snapshot, of when the trace begins: in a cut one there is something already. */
static void restart(struct massif *m, uint32_t records)
{
	struct snapshot *first = &m->snapshots.items[0];
	struct snapshot now = snapshot_of(SNAPSHOT_NORMAL, &m->counters, records);

	if (m->snapshots.n == 0) {
		massif_store(m, SNAPSHOT_NORMAL, m->counters, records);
		return;
	}
	now.detailed = first->detailed;
	free(first->live);
	*first = now;
	m->snapshots.earliest = m->counters.clock + m->snapshots.min_interval;
	m->took_snapshots = true;
}

static void take_blocks(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;

	/* Places that are empty by now have been allocated from. */
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		live_totals_add(&m->live, chunk->tokens[i].kind, chunk->tokens[i].role == MST_ALLOC, 0);
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const struct effect e = effect_at(m, i);

		m->counters.useful += e.counted ? e.useful : 0;
		m->counters.total += e.counted ? e.total : 0;
	}
}

/* What was live when the trace begins comes without a call, at the time of the beginning. 0 or an enum mst_error. */
static int take_base(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	struct depths_cursor cursor = { 0 };
	struct depth_step step;
	struct counters *now = &m->counters;
	int err = 0;

	if (is_in_ms(m))
		now->clock = mst_reader_info(m->reader)->begin_ns / NS_PER_MS;
	else if (m->settings->time_unit == TIME_INSTRUCTIONS)
		now->clock = chunk->n_records ? chunk->instructions[chunk->n_records - 1] : now->clock;
	if (m->pages)
		err = massif_take_pages(m);
	else if (m->settings->heap)
		take_blocks(m);
	while (m->depths && depths_next(m->depths, &cursor, &step)) {
		now->stacks += step.grown;
		now->total += step.grown;
	}
	now->changes++;
	restart(m, chunk->n_records);
	consider_peak_mark(m, now, chunk->n_records);
	return err;
}

void massif_enter_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	m->reader = reader;
	m->chunk = chunk;
	m->mean = mst_reader_info(reader)->sample_bytes;
	m->time_shift = mst_reader_time_shift(reader);
	m->applied = 0;
}

bool massif_begin_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	massif_enter_chunk(m, reader, chunk);
	if (!m->prepared)
		m->prepared = !m->settings->heap || prepare_chunk(m);
	return m->prepared;
}

static int massif_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;

	if (!m->settings->heap && !m->depths)
		return 0;
	if (m->pages) {
		massif_enter_chunk(m, reader, chunk);
		return chunk->base ? take_base(m) : massif_run_pages(m);
	}
	if (!massif_begin_chunk(m, reader, chunk))
		return MST_ERR_NOMEM;
	m->prepared = false;
	if (chunk->base)
		take_base(m);
	else
		run_chunk(m);
	if (m->failed || !massif_fill_detailed(m) || !massif_fill_marks(m, chunk->n_records))
		return MST_ERR_NOMEM;
	if (m->settings->heap)
		massif_apply_records(m, chunk->n_records);
	return 0;
}

/* False: no memory. */
static bool end_peak(struct massif *m)
{
	struct snapshot *peak = &m->marks.peak;

	if (m->settings->exact_peak && m->marks.highest) {
		m->peak = snapshots_set_peak(&m->snapshots, peak);
		return true;
	}
	m->peak = peak;
	if (m->marks.highest == 0 && m->settings->heap)
		peak->live = calloc(1, sizeof(*peak->live));
	return m->marks.highest != 0 || !m->settings->heap || peak->live;
}

/* The end as a moment that was asked for. False: no memory. */
static bool end_moment(struct massif *m, const struct at *at, struct moment *moment)
{
	moment->one = snapshot_of(SNAPSHOT_NORMAL, &m->counters, 0);
	moment->one.detailed = at->what == AT_DETAILED;
	if (moment->one.detailed && m->settings->heap)
		moment->one.live = copy_live(m);
	return !moment->one.detailed || !m->settings->heap || moment->one.live;
}

static int massif_end(struct observer *observer, const struct mst_reader *reader)
{
	struct massif *m = (struct massif *)observer;

	(void)reader;
	/* Chunks without the peak were passed over, and the one that has it was not what its sums say. */
	if (m->marks.peak_wanted && m->marks.highest < m->peak_floor)
		return MST_ERR_DAMAGED;
	if (m->pages)
		massif_end_pages(m);
	/* Times after the end; then the end itself, which has the true peak if that is wanted. */
	if (!requested_copy_all(&m->marks, m->marks.n_times, m->snapshots.items, m->snapshots.n) ||
	    !end_peak(m))
		return MST_ERR_NOMEM;
	for (size_t i = m->marks.taken; i < m->settings->n_ats; i++) {
		const struct at *at = &m->settings->ats[i];
		struct moment *moment = &m->marks.moments[i];

		if (at->kind != AT_PEAK && !end_moment(m, at, moment))
			return MST_ERR_NOMEM;
	}
	return requested_copy_all(&m->marks, m->settings->n_ats, m->snapshots.items, m->snapshots.n)
		       ? 0
		       : MST_ERR_NOMEM;
}

/* ---- life ---- */

static const struct observer_impl massif_impl = {
	.chunk = massif_chunk,
	.sums_suffice = massif_sums_suffice,
	.sums = massif_sums,
	.foresee = massif_foresee,
	.satisfied = massif_satisfied,
	.end = massif_end,
};

/* Columns that the settings have nothing to do with. */
static unsigned spared_columns(const struct settings *s)
{
	const unsigned spared = MST_THREADS | MST_IDENTITY | MST_ADDRESSES | MST_SP_CHANGES;

	if (s->pages_as_heap)
		return 0;
	if (s->time_unit == TIME_INSTRUCTIONS)
		return spared | MST_TIMES;
	return s->time_unit == TIME_BYTES ? spared | MST_INSTRUCTIONS | MST_TIMES : spared | MST_INSTRUCTIONS;
}

/* Whether nothing will be made of Massif's own snapshots. */
static bool is_snapshotless(const struct settings *s)
{
	bool without = s->only_moments && !s->stats;

	for (size_t i = 0; i < s->n_ats; i++)
		without &= s->ats[i].what != AT_ALL;
	return without;
}

struct massif *massif_create(const struct settings *settings, struct symbolizer *symbolizer,
			     const struct massif_helpers *helpers)
{
	struct massif *m = calloc(1, sizeof(*m));
	bool fine;

	if (!m)
		return NULL;
	m->observer.impl = &massif_impl;
	m->observer.spared = spared_columns(settings);
	m->settings = settings;
	m->by_record = helpers->usable != NULL;
	m->ledger = (struct block_effects){ .settings = settings, .usable = helpers->usable };
	m->depths = helpers->depths;
	m->peak_floor = helpers->peak_floor;
	fine = requested_init(&m->marks, settings, m->peak_floor) &&
	       live_totals_init(&m->live, settings, symbolizer) && snapshots_init(&m->snapshots, settings);
	if (fine) {
		m->chronicle = m->snapshots.chronicle = helpers->chronicle;
		if (settings->pages_as_heap)
			m->pages = pages_create(settings->compat == COMPAT_FIXED);
		/* Massif considers a snapshot before the first instruction of the program. */
		else
			massif_store(m, SNAPSHOT_NORMAL, m->counters, 0);
		fine = !settings->pages_as_heap || m->pages;
		if (is_snapshotless(settings))
			m->snapshots.earliest = m->snapshots.peak_limit = UINT64_MAX;
	}
	fine = fine && massif_fill_detailed(m);
	if (!fine) {
		massif_destroy(m);
		return NULL;
	}
	return m;
}

void massif_destroy(struct massif *m)
{
	if (!m)
		return;
	live_totals_finish(&m->live);
	snapshots_finish(&m->snapshots);
	requested_finish(&m->marks);
	block_effects_finish(&m->ledger);
	pages_destroy(m->pages);
	free(m->effects);
	free(m->sums);
	free(m->tallies);
	free(m);
}

struct observer *massif_observer(struct massif *m)
{
	return &m->observer;
}

const struct snapshot *massif_at(const struct massif *m, size_t i, struct snapshot *one, size_t *n)
{
	const struct at *at = &m->settings->ats[i];
	const struct moment *moment = &m->marks.moments[i];

	*n = moment->n_all;
	if (at->what == AT_ALL)
		return moment->all;
	*n = 1;
	*one = at->kind == AT_PEAK ? m->marks.peak : moment->one;
	one->kind = SNAPSHOT_NORMAL;
	if (at->kind == AT_PEAK)
		one->live = at->what == AT_DETAILED ? m->peak->live : NULL;
	return one;
}

const struct snapshot *massif_snapshots(const struct massif *m, size_t *n)
{
	*n = m->snapshots.n;
	return m->snapshots.items;
}

struct tree *massif_tree(struct massif *m, const struct snapshot *snapshot)
{
	const struct tree_input in = {
		.bytes = snapshot->live->bytes,
		.n = snapshot->live->n,
		.more = snapshot->extra + snapshot->stacks,
		.threshold = m->settings->threshold,
	};
	const bool merged = m->settings->compat == COMPAT_3_19;

	return live_totals_tree(&m->live, m->reader, merged, &in);
}
