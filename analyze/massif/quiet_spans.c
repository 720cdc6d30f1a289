/* SPDX-License-Identifier: MIT */
/*
 * Spans of a chunk's records between which neither a snapshot nor a request can be due: they are added up, call by
 * call, and nothing else is asked of them. Only for recorded clocks, which say beforehand where the next snapshot is
 * due: where changes are counted this takes as long as accounting each record. Where a stretch of records cannot reach
 * the next peak even if all that comes came first, the totals between them are not looked at either.
 */
#include "array.h"
#include "massif_state.h"

/* Calls in a row, added up. */
struct span {
	uint32_t end; /* the first record behind it, where a call begins */
	uint64_t useful, total;
	uint64_t calls; /* that change anything; a realloc in a stretch may count as two */
};

/* What a record, or several, do where nothing is asked of a single one. */
struct quiet_sums {
	uint64_t useful, total;
	uint64_t rise;    /* the total without what takes from it */
	uint64_t changes; /* records that change anything */
};

#define STRETCH 64u                /* records that are added up at once ... */
#define NARROW ((uint64_t)1 << 55) /* ... whose sums don't wrap if each is less */

/* Fills in what tokens add up to. False: sums could wrap, or there is no memory. */
static bool prepare_sums(struct quiet_state *quiet, const struct effect *effects, uint32_t n_tokens)
{
	uint64_t biased = 0;

	if (!array_reserve(&quiet->sums, n_tokens, &quiet->capacity, sizeof(*quiet->sums)))
		return false;
	for (uint32_t i = 0; i < n_tokens; i++) {
		const struct effect *const e = &effects[i];

		biased |= e->total + NARROW;
		quiet->sums[i] =
			(struct quiet_sums){ e->useful, e->total, positive(e->total),
					     e->action <= GOES || (e->action == PAIR && e->counted) };
	}
	return biased < 2 * NARROW;
}

void massif_begin_quiet(struct massif *m)
{
	struct quiet_state *const quiet = &m->quiet;

	quiet->possible = m->settings->heap && m->settings->compat == COMPAT_FIXED && !m->log &&
			  !clock_counts_changes(m->settings);
	quiet->summed = quiet->possible && !is_by_record(m) &&
			prepare_sums(quiet, m->tokens.effects, m->chunk->n_tokens);
	quiet->added_up = 0;
}

/* ---- calls ---- */

static inline const struct effect *effect_of_record(const struct massif *m, uint32_t i)
{
	return is_by_record(m) ? &m->block_effects.effects[i] : &m->tokens.effects[m->chunk->records[i]];
}

/*
 * Whether the call that begins with record `i` gives something back while the total is above what a peak must
 * exceed.
 */
static inline bool may_be_peak(const struct massif *m, uint64_t total, uint32_t i)
{
	const struct effect *e, *next;

	if (__builtin_expect(total <= m->snapshots.peak_limit, 1))
		return false;
	e = effect_of_record(m, i);
	if (e->action != PAIR)
		return e->action == GOES;
	/* The reader has proved that there is a next record. */
	next = effect_of_record(m, i + 1);
	return e->counted && (next->action != COMES || next->useful < -e->useful);
}

/* The call that begins with record `i`: its effect, and how many records it has. Uncounted blocks add nothing. */
static inline __attribute__((always_inline)) uint32_t call_at(const struct massif *m, uint32_t i,
							      struct effect *call)
{
	*call = *effect_of_record(m, i);
	if (call->action == PAIR) {
		const struct effect *second = effect_of_record(m, i + 1);

		call->useful += second->useful;
		call->total += second->total;
		call->action = call->counted || second->action == COMES ? COMES : NOTHING;
		return 2;
	}
	return 1;
}

/* ---- spans ---- */

/* Adds up the calls that begin in [s->end, end); false: only those before one at which something may be due. */
static bool add_calls(const struct massif *m, struct span *s, uint32_t end)
{
	while (s->end < end) {
		struct effect call;
		const uint32_t n = call_at(m, s->end, &call);

		if (may_be_peak(m, s->total, s->end) || s->total + call.total > m->requested.highest)
			return false;
		s->end += n;
		s->useful += call.useful;
		s->total += call.total;
		s->calls += call.action <= GOES;
	}
	return true;
}

static inline struct quiet_sums sums_of(const struct quiet_sums *by_token, const uint16_t *records,
					uint32_t n)
{
	struct quiet_sums sums = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const struct quiet_sums *const one = &by_token[records[i]];

		sums.useful += one->useful;
		sums.total += one->total;
		sums.rise += one->rise;
		sums.changes += one->changes;
	}
	return sums;
}

/*
 * Adds up the calls in [s->end, end) without asking for the total at each. False, and nothing is added: it may come
 * above what a peak must exceed, or below 0; or a call goes on beyond the end.
 */
static bool add_stretch(const struct massif *m, struct span *s, uint32_t end)
{
	const uint64_t peak = m->snapshots.peak_limit, highest = m->requested.highest;
	const uint64_t limit = peak < highest ? peak : highest;
	struct quiet_sums sums;

	assert(end > s->end && end - s->end <= STRETCH);
	if (s->total > limit || effect_of_record(m, end - 1)->action == PAIR)
		return false;
	sums = sums_of(m->quiet.sums, m->chunk->records + s->end, end - s->end);
	if (sums.rise > limit - s->total || sums.rise - sums.total > s->total)
		return false;
	s->end = end;
	s->useful += sums.useful;
	s->total += sums.total;
	s->calls += sums.changes;
	return true;
}

static struct span span_at(const struct massif *m, uint32_t i)
{
	return (struct span){ .end = i, .useful = m->counters.useful, .total = m->counters.total };
}

/* Adds up the calls that begin in [i, end), or those before one at which something may be due. */
static struct span add_up(const struct massif *m, uint32_t i, uint32_t end)
{
	struct span s = span_at(m, i);
	bool goes_on = true;

	while (s.end < end && goes_on) {
		const uint32_t stop = end - s.end > STRETCH ? s.end + STRETCH : end;

		goes_on = (m->quiet.summed && add_stretch(m, &s, stop)) || add_calls(m, &s, stop);
	}
	return s;
}

/* Takes off the last calls of a span that begins with the record `start`, until only so many are left. */
static void shorten(const struct massif *m, struct span *s, uint32_t start, uint64_t calls)
{
	while (s->calls > calls) {
		struct effect call;

		assert(s->end > start);
		s->end--;
		if (s->end > start && effect_of_record(m, s->end - 1)->action == PAIR)
			s->end--;
		call_at(m, s->end, &call);
		s->useful -= call.useful;
		s->total -= call.total;
		s->calls -= call.action <= GOES;
	}
}

static uint32_t take(struct massif *m, const struct span *s)
{
	m->counters.useful = s->useful;
	m->counters.total = s->total;
	m->counters.changes += s->calls;
	return s->end;
}

uint32_t massif_pass_quiet(struct massif *m, uint32_t i, uint32_t end)
{
	const struct span s = add_up(m, i, clock_first(&m->clock, i, end, next_due(m)));

	/* A request that is over by the next record wants the time of the last call. */
	if (s.end > i)
		m->counters.clock = clock_at_record(&m->clock, s.end - 1, m->counters.clock);
	assert(s.end >= i && s.end <= end + 1);
	return take(m, &s);
}

uint32_t massif_pass_fleeting(struct massif *m, uint32_t i, uint32_t end)
{
	struct span s;
	uint64_t n;

	if (i < m->quiet.added_up || end - i < 2 * m->snapshots.max ||
	    !snapshots_are_fleeting(&m->snapshots, m->counters.clock))
		return i;
	assert(!clock_counts_changes(m->settings));
	s = span_at(m, i);
	add_calls(m, &s, end);
	m->quiet.added_up = s.end;
	n = snapshots_skip(&m->snapshots, s.calls);
	if (n == 0)
		return i;
	shorten(m, &s, i, n);
	return take(m, &s);
}
