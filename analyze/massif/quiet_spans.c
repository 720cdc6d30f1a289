/* SPDX-License-Identifier: MIT */
/*
 * Stretches of a chunk's records in which nothing can be the moment for a snapshot or a mark: they are added up, and
 * nothing else is asked of them.
 */
#include "massif_state.h"

/* Records in a row, added up. */
struct lull {
	uint32_t end; /* the first one behind, where a call begins */
	uint64_t useful, total, clock;
	uint64_t calls; /* that count; of those added up call by call */
	bool changed;   /* some record counts; told only where the true peak is looked for */
};

/* Bytes of which ROW times as many are still a number. */
#define MONSTROUS ((uint64_t)1 << 56)

/* Zeroes the effects of uncounted tokens. */
static void sort_out(struct massif *m)
{
	m->rows = true;
	for (uint32_t i = 0; i < m->chunk->n_tokens; i++) {
		struct effect *e = &m->effects[i];

		if (!e->counted)
			e->useful = e->total = e->clock = 0;
		m->sums[i] = (struct sum){ { e->useful, e->total, positive(e->total) } };
		if (e->action <= GOES)
			m->sums[i].of[CALLS] = 1;
		else if (e->action == PAIR && e->counted)
			m->sums[i].of[CALLS] = SAME_CALL + 1;
		/*
		 * An empty block without admin goes, and the total doesn't fall; with monstrous ones sums
		 * mean nothing.
		 */
		m->rows &= e->action == COMES || e->action == NOTHING || !e->counted || e->total >> 63;
		m->rows &= e->total + MONSTROUS < 2 * MONSTROUS;
	}
}

void massif_begin_lulls(struct massif *m)
{
	m->lulls = m->settings->heap && m->settings->compat == COMPAT_FIXED && !m->chronicle;
	if (m->lulls)
		sort_out(m);
	m->added_up = 0;
}

/* ---- the clock ---- */

static uint32_t first_at_count(const struct massif *m, uint32_t i, uint32_t end, uint64_t count)
{
	const uint64_t *instructions = m->chunk->instructions;

	while (i < end) {
		const uint32_t middle = i + (end - i) / 2;

		if (instructions[middle] < count)
			i = middle + 1;
		else
			end = middle;
	}
	return i;
}

static uint32_t first_at_time(const struct massif *m, uint32_t i, uint32_t end, uint64_t time)
{
	const struct mst_chunk *chunk = m->chunk;

	for (uint32_t stamp = stamp_at(m, i); clock_of_stamp(m, stamp) < time; stamp++) {
		if (stamp + 1 == chunk->n_stamps || chunk->stamps[stamp + 1].record >= end)
			return end;
		i = chunk->stamps[stamp + 1].record;
	}
	return i;
}

/* From when on there can be a snapshot, or a moment that was asked for is over. */
static uint64_t next_due(const struct massif *m)
{
	return m->marks.next_time < m->snapshots.earliest ? m->marks.next_time + 1 : m->snapshots.earliest;
}

/* The first of the records at which that is due, or `end`; with a clock of bytes that isn't known. */
static uint32_t first_due(const struct massif *m, uint32_t i, uint32_t end)
{
	if (m->settings->time_unit == TIME_BYTES)
		return end;
	if (m->settings->time_unit == TIME_INSTRUCTIONS)
		return first_at_count(m, i, end, next_due(m));
	return first_at_time(m, i, end, next_due(m));
}

/* ---- records ---- */

/*
 * Whether the call that begins with the record `i` gives something back while the total is above what a peak
 * must exceed.
 */
static inline bool may_be_peak(const struct massif *m, uint64_t total, uint32_t i)
{
	const uint16_t *const records = m->chunk->records;
	const struct effect *e = &m->effects[records[i]], *next;

	if (__builtin_expect(total <= m->snapshots.peak_limit, 1) || e->action != PAIR)
		return total > m->snapshots.peak_limit && e->action == GOES;
	/* The reader has proved that there is a next record. */
	next = &m->effects[records[i + 1]];
	return e->counted && (next->action != COMES || next->useful < -e->useful);
}

/* What the record adds, by its token or by what the single block takes. */
static inline struct effect effect_of_record(const struct massif *m, uint32_t i, bool by_block)
{
	const uint16_t *const records = m->chunk->records;
	const struct effect *e = &m->effects[records[i]];

	if (!by_block || !e->counted || e->action == NOTHING)
		return *e;
	return block_effects_effect(&m->ledger, records, m->effects, i);
}

/* Whether the record is half a call, of which the rest counts alone. */
static inline bool is_odd(const struct massif *m, const struct effect *e, uint32_t i, bool by_block)
{
	return by_block && e->action == PAIR &&
	       block_effects_lacks(&m->ledger, m->chunk->records, m->effects, i);
}

/* Records in a row that are added up before it is asked whether one of them could be a peak. */
#define ROW 8u

/*
 * Adds the next ROW records to what there is, to the end of the call if calls count or the true peak is looked for
 * (`marking`). False: one may be a peak.
 */
static inline __attribute__((always_inline)) bool add_row(const struct massif *m, struct lull *l, bool calls,
							  bool marking)
{
	const uint16_t *const records = &m->chunk->records[l->end];
	struct sum s = { { 0 } };
	uint64_t last = 0, twice = 0, most;
	uint32_t n = ROW;

	for (uint32_t k = 0; k < ROW; k++) {
		const struct sum *added = &m->sums[records[k]];

		s.of += added->of;
		twice += last / SAME_CALL & added->of[CALLS];
		last = added->of[CALLS];
	}
	if ((calls || marking) && m->effects[records[n - 1]].action == PAIR) {
		s.of += m->sums[records[n]].of;
		twice += last / SAME_CALL & m->sums[records[n++]].of[CALLS];
	}
	most = l->total + s.of[RISE];
	/* Nothing goes where the total only rises, but the true peak may be there. */
	if ((marking && most > m->marks.highest) ||
	    (s.of[RISE] != s.of[TOTAL] && (most > m->snapshots.peak_limit || most < s.of[RISE])))
		return false;
	l->end += n;
	l->useful += s.of[USEFUL];
	l->total += s.of[TOTAL];
	l->calls += calls ? (uint32_t)s.of[CALLS] - twice : 0;
	l->changed |= marking && s.of[CALLS] != 0;
	return true;
}

/*
 * Adds rows, as long as there is something left before `end`. Returns where the next one may begin, if there
 * was one that was not added.
 */
static inline __attribute__((always_inline)) uint32_t add_rows(const struct massif *m, struct lull *l,
							       uint32_t end, bool calls, bool marking)
{
	while (m->rows && end - l->end > ROW + 1) {
		if (!add_row(m, l, calls, marking))
			return l->end + ROW;
	}
	return end;
}

static struct lull lull_at(const struct massif *m, uint32_t i)
{
	return (struct lull){ i, m->counters.useful, m->counters.total, m->counters.clock, 0, false };
}

/* What the call does that begins with the record `i`. */
static inline struct effect call_at(const struct massif *m, uint32_t i)
{
	struct effect call = effect_of_record(m, i, m->by_record);

	if (call.action == PAIR) {
		const struct effect second = effect_of_record(m, i + 1, m->by_record);

		call.useful += second.useful;
		call.total += second.total;
		call.clock = ticks_of(m, call.total);
		call.action = call.counted || second.action == COMES ? COMES : NOTHING;
	}
	return call;
}

/* Whether the call, or the second half of one, makes the total the true peak's so far. */
static inline bool may_be_mark(const struct massif *m, uint64_t total, const struct effect *call)
{
	return total + call->total > m->marks.highest;
}

/* Whether counters or trees are others behind the record, or the call. */
static inline bool changes_something(const struct massif *m, const struct effect *e)
{
	return e->action <= GOES || (e->counted && (e->action == PAIR || (m->by_record && e->live != 0)));
}

/* Adds up the records [i, end), or those before one that could be a peak, where no clock matters. */
static inline __attribute__((always_inline)) struct lull
add_records(const struct massif *m, uint32_t i, uint32_t end, bool by_block, bool marking)
{
	struct lull l = lull_at(m, i);
	struct effect e = { .action = NOTHING }, call;
	uint32_t row = by_block ? end : i; /* where the next one may begin */

	for (; l.end < end; l.end++) {
		if (l.end >= row)
			row = add_rows(m, &l, end, false, marking);
		e = effect_of_record(m, l.end, by_block);
		if (may_be_peak(m, l.total, l.end) || is_odd(m, &e, l.end, by_block))
			return l;
		if (marking) {
			call = call_at(m, l.end);
			if (may_be_mark(m, l.total, &call))
				return l;
		}
		l.useful += e.useful;
		l.total += e.total;
		l.changed |= marking && changes_something(m, &e);
	}
	if (e.action == PAIR) {
		/* The reader has proved that there is a next record. */
		e = effect_of_record(m, l.end++, by_block);
		l.useful += e.useful;
		l.total += e.total;
		l.changed |= marking && changes_something(m, &e);
	}
	return l;
}

/* The same, call by call, as long as the clock, if it is of bytes, stays before `clock`. */
static inline __attribute__((always_inline)) struct lull
add_calls_by(const struct massif *m, uint32_t i, uint32_t end, uint64_t clock, bool marking)
{
	const uint16_t *const records = m->chunk->records;
	struct lull l = lull_at(m, i);
	uint32_t row = m->by_record || m->settings->time_unit == TIME_BYTES ? end : i;

	while (l.end < end) {
		const struct effect *first;
		struct effect call;

		if (l.end >= row)
			row = add_rows(m, &l, end, true, marking);
		first = &m->effects[records[l.end]];
		call = call_at(m, l.end);
		if (may_be_peak(m, l.total, l.end) || is_odd(m, first, l.end, m->by_record) ||
		    (marking && may_be_mark(m, l.total, &call)) || l.clock + call.clock >= clock)
			break;
		l.end += first->action == PAIR ? 2 : 1;
		l.useful += call.useful;
		l.total += call.total;
		l.clock += call.clock;
		l.calls += call.action <= GOES;
		l.changed |= marking && changes_something(m, &call);
	}
	return l;
}

static struct lull add_calls(const struct massif *m, uint32_t i, uint32_t end, uint64_t clock)
{
	return m->marks.peak_wanted ? add_calls_by(m, i, end, clock, true)
				    : add_calls_by(m, i, end, clock, false);
}

/* Takes the last calls off again, until there are only so many of those that began with the record `start`. */
static void shorten(const struct massif *m, struct lull *l, uint32_t start, uint64_t calls)
{
	const uint16_t *const records = m->chunk->records;

	while (l->calls > calls) {
		struct effect call;

		l->end--;
		if (l->end > start && m->effects[records[l->end - 1]].action == PAIR)
			l->end--;
		call = call_at(m, l->end);
		l->useful -= call.useful;
		l->total -= call.total;
		l->calls -= call.action <= GOES;
	}
}

static uint32_t take(struct massif *m, const struct lull *l)
{
	m->counters.useful = l->useful;
	m->counters.total = l->total;
	m->counters.clock = l->clock;
	m->counters.changes += l->changed;
	return l->end;
}

static uint32_t pass_records(struct massif *m, uint32_t i, uint32_t end)
{
	struct lull l;

	if (m->settings->time_unit == TIME_BYTES)
		l = add_calls(m, i, end, next_due(m));
	else if (m->marks.peak_wanted)
		l = add_records(m, i, end, m->by_record, true);
	else
		l = m->by_record ? add_records(m, i, end, true, false) : add_records(m, i, end, false, false);
	return take(m, &l);
}

uint32_t massif_pass_lull(struct massif *m, uint32_t i, uint32_t end)
{
	const uint32_t start = i;

	end = first_due(m, i, end);
	i = pass_records(m, i, end);
	if (m->settings->time_unit == TIME_INSTRUCTIONS && i > start)
		m->counters.clock = m->chunk->instructions[i - 1];
	/* A moment that is over by the next record is to tell when the last call was. */
	if (m->marks.next_time != UINT64_MAX && is_in_ms(m) && i > start)
		m->counters.clock = clock_of_stamp(m, stamp_at(m, i - 1));
	return i;
}

/* ---- snapshots that leave no trace ---- */

uint32_t massif_pass_snapshots(struct massif *m, uint32_t i, uint32_t end)
{
	struct lull l;
	uint64_t spare;

	if (i < m->added_up || end - i < 2 * m->snapshots.max ||
	    !snapshots_are_fleeting(&m->snapshots, m->counters.clock))
		return i;
	l = add_calls(m, i, end, UINT64_MAX);
	m->added_up = l.end;
	spare = snapshots_skip(&m->snapshots, l.calls);
	if (spare == 0)
		return i;
	shorten(m, &l, i, spare);
	return take(m, &l);
}
