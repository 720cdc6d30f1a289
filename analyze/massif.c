/* SPDX-License-Identifier: MIT */
/*
 * Massif's counters over a trace. What a record does to them is looked up in a table made for each
 * chunk. A snapshot only notes the numbers and its place in the chunk; for those that are left at
 * the chunk's end and need a tree, live blocks are counted by kind up to that place.
 *
 * Counters are unsigned and may wrap: a hostile trace may free more than it allocates, or blocks
 * of any size.
 */
#include "massif.h"

#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "marks.h"
#include "snapshot.h"
#include "tree.h"

#define NS_PER_MS 1000000u

/* What becomes of a record. */
enum action {
	COMES,     /* a counted block */
	GOES,      /* a counted block, by free */
	NOTHING,
	PAIR,      /* the first of the two records of a realloc or of a free by another call */
};

/* What a record of a symbol does; changes are modulo 2^64. */
struct effect {
	uint64_t useful, total;         /* added to the counters; total includes admin and rounding */
	uint64_t clock;                 /* added to the clock, if this is a call of its own */
	uint8_t action;                 /* enum action */
	bool comes;                     /* a block of the kind comes, with role MST_ALLOC */
	bool counted;                   /* blocks of the kind are */
};

struct counters {
	uint64_t useful, total;
	uint64_t clock;                 /* in the settings' time unit */
	uint64_t changes;               /* calls that changed the others */
};

struct live_kind {
	int64_t blocks;                 /* below 0 in a hostile trace */
	uint32_t context;               /* of its blocks; CONTEXT_UNKNOWN before the first came */
};

struct massif {
	struct observer observer;
	const struct settings *settings;
	struct contexts contexts;
	struct snapshots snapshots;
	struct marks marks;
	const struct snapshot *peak;    /* has the true peak's `live`, after the end */
	struct counters counters;
	struct live_kind *kinds;        /* after the first `applied` records of the present chunk */
	uint32_t n_kinds;               /* at least as many as the trace has */
	uint32_t applied;
	uint32_t n_contexts;            /* allocated from, like the kinds */
	bool took_snapshots;            /* in the present chunk */

	/* The present chunk; NULL before the first. */
	const struct mst_reader *reader;
	const struct mst_chunk *chunk;
	struct effect *effects;         /* by symbol */
	uint32_t n_effects;
};

/* ---- snapshots ---- */

static uint64_t positive(uint64_t n)
{
	return (int64_t)n > 0 ? n : 0;
}

/* The moment after `records` records of the chunk. */
static struct snapshot snapshot_of(enum snapshot_kind kind, const struct counters *now, uint32_t records)
{
	return (struct snapshot){
		.kind = kind,
		.time = (int64_t)now->clock,
		.heap = positive(now->useful),
		.extra = positive(now->total - now->useful),
		.records = records,
		.changes = now->changes,
	};
}

static __attribute__((noinline)) void store(struct massif *m, enum snapshot_kind kind,
					    struct counters now, uint32_t records)
{
	const struct snapshot s = snapshot_of(kind, &now, records);

	snapshots_store(&m->snapshots, &s);
	m->took_snapshots = true;
}

/* After something happened. */
static inline void consider_normal(struct massif *m, const struct counters *now, uint32_t records)
{
	if (__builtin_expect(now->clock >= m->snapshots.earliest, 0))
		store(m, SNAPSHOT_NORMAL, *now, records);
}

/* Before something is given back. */
static inline void consider_peak(struct massif *m, const struct counters *now, uint32_t records)
{
	if (now->total > m->snapshots.peak_limit && positive(now->total))
		store(m, SNAPSHOT_PEAK, *now, records);
}

/* Before the clock goes on to `clock`. */
static inline void consider_times(struct massif *m, const struct counters *before, uint64_t clock,
				  uint32_t records)
{
	if (__builtin_expect(clock > m->marks.next_time, 0)) {
		struct snapshot s = snapshot_of(SNAPSHOT_NORMAL, before, records);

		s.detailed = true;
		marks_pass(&m->marks, &s, clock);
	}
}

/* After something happened. */
static inline void consider_peak_mark(struct massif *m, const struct counters *now, uint32_t records)
{
	struct snapshot peak;

	if (positive(now->total) <= m->marks.highest)
		return;
	peak = snapshot_of(SNAPSHOT_PEAK, now, records);
	peak.detailed = true;
	marks_raise(&m->marks, &peak, now->total);
}

/* ---- live blocks ---- */

static void apply_symbol(struct massif *m, const struct mst_symbol *symbol, uint32_t count)
{
	struct live_kind *kind = &m->kinds[symbol->kind];

	if (symbol->role == MST_ALLOC) {
		kind->blocks += count;
		if (kind->context < CONTEXT_IGNORED && kind->context >= m->n_contexts)
			m->n_contexts = kind->context + 1;
	} else if (symbol->role == MST_FREE || symbol->role == MST_OUT) {
		kind->blocks -= count;
	}
}

/* Brings the live blocks to what they are after the first `n` records of the chunk. */
static void apply_records(struct massif *m, uint32_t n)
{
	const struct mst_chunk *chunk = m->chunk;

	if (m->applied == 0 && n == chunk->n_records) {
		for (uint32_t i = 0; i < chunk->n_symbols; i++)
			apply_symbol(m, &chunk->symbols[i], chunk->symbols[i].count);
		m->applied = n;
	}
	for (; m->applied < n; m->applied++)
		apply_symbol(m, &chunk->symbols[chunk->records[m->applied]], 1);
}

/* Live bytes by context, of the blocks as they are applied. NULL: no memory. */
static struct live *copy_live(const struct massif *m)
{
	struct live *live = calloc(1, sizeof(*live) + m->n_contexts * sizeof(*live->bytes));
	const struct mst_kind *kinds;
	uint32_t n_kinds;

	if (!live || !m->reader)
		return live;
	live->n = m->n_contexts;
	kinds = mst_reader_kinds(m->reader, &n_kinds);
	if (n_kinds > m->n_kinds)
		n_kinds = m->n_kinds; /* the others were defined for a chunk that could not be read */
	for (uint32_t i = 0; i < n_kinds; i++) {
		const struct live_kind *kind = &m->kinds[i];

		if (kind->blocks > 0 && kind->context < live->n)
			live->bytes[kind->context] += kinds[i].size * (uint64_t)kind->blocks;
	}
	return live;
}

/* For the present chunk's marks, up to the one after `until` records. False: no memory. */
static bool fill_marks(struct massif *m, uint32_t until)
{
	struct snapshot *mark;

	while ((mark = marks_pending(&m->marks)) && mark->records <= until) {
		struct live *live;

		apply_records(m, mark->records);
		live = copy_live(m);
		if (!live)
			return false;
		marks_fill(&m->marks, mark, live);
	}
	return true;
}

/* For the present chunk's snapshots, which are in the order of their moments. False: no memory. */
static bool fill_detailed(struct massif *m)
{
	struct snapshots *all = &m->snapshots;

	if (!m->took_snapshots || !m->settings->heap)
		return true;
	for (size_t i = 0; i < all->n; i++) {
		struct snapshot *s = &all->items[i];

		if (!s->detailed || s->live)
			continue;
		if (!fill_marks(m, s->records))
			return false;
		if (m->chunk)
			apply_records(m, s->records);
		s->live = copy_live(m);
		if (!s->live)
			return false;
	}
	m->took_snapshots = false;
	return true;
}

/* ---- records ---- */

static inline void add(struct counters *now, const struct effect *e)
{
	now->useful += e->useful;
	now->total += e->total;
	now->clock += e->clock;
	now->changes++;
}

static inline void resize(struct massif *m, struct counters *now, const struct effect *old,
			  const struct effect *new, uint32_t i)
{
	const uint64_t change = old->total + new->total, old_size = -old->useful, size = new->useful;

	if (size < old_size)
		consider_peak(m, now, i);
	now->useful += old->useful + new->useful;
	now->total += change;
	now->changes++;
	if (m->settings->time_unit == TIME_BYTES)
		now->clock += (int64_t)change < 0 ? -change : change;
	consider_normal(m, now, i + 2);
}

/*
 * Two records, i and i + 1, that are one call. Going between ignored and counted is a free or an
 * allocation.
 */
static inline void do_pair(struct massif *m, struct counters *now, const struct effect *old,
			   const struct effect *new, uint32_t i)
{
	const bool comes = new->comes && new->counted;

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

/*
 * The records [i, end) of the chunk, at one time; returns the first one not done, end or end + 1.
 * A constant `marking` makes two functions of it: what looks for marks takes longer.
 */
static inline __attribute__((always_inline)) uint32_t run(struct massif *m, uint32_t i, uint32_t end,
							   bool marking)
{
	const uint16_t *records = m->chunk->records;
	const struct effect *effects = m->effects;
	struct counters now = m->counters;

	for (; i < end; i++) {
		const struct effect *e = &effects[records[i]];
		const struct counters before = now;
		const uint32_t first = i;

		if (e->action <= GOES) {
			/* In this order: the total is seldom above the limit, but any action is as likely. */
			if (now.total > m->snapshots.peak_limit && e->action == GOES)
				consider_peak(m, &now, i);
			add(&now, e);
			consider_normal(m, &now, i + 1);
		} else if (e->action == PAIR) {
			/* The reader has proved that there is a next record. */
			do_pair(m, &now, e, &effects[records[i + 1]], i);
			i++;
		}
		if (marking) {
			consider_times(m, &before, now.clock, first);
			consider_peak_mark(m, &now, i + 1);
		}
	}
	m->counters = now;
	return i;
}

static uint32_t run_records(struct massif *m, uint32_t i, uint32_t end)
{
	return m->marks.watching ? run(m, i, end, true) : run(m, i, end, false);
}

static void run_chunk(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	const unsigned shift = mst_reader_time_shift(m->reader);
	uint32_t i = 0;

	if (m->settings->time_unit == TIME_BYTES) {
		run_records(m, 0, chunk->n_records);
		return;
	}
	for (uint32_t s = 0; s < chunk->n_stamps; s++) {
		const uint32_t end = s + 1 < chunk->n_stamps ? chunk->stamps[s + 1].record : chunk->n_records;

		const uint64_t clock = (chunk->stamps[s].time << shift) / NS_PER_MS;

		consider_times(m, &m->counters, clock, i);
		m->counters.clock = clock;
		i = run_records(m, i, end);
	}
}

/* ---- chunks ---- */

static bool reserve_kinds(struct massif *m, uint32_t n)
{
	struct live_kind *kinds;

	if (n <= m->n_kinds)
		return true;
	n += n / 2;
	kinds = realloc(m->kinds, n * sizeof(*kinds));
	if (!kinds)
		return false;
	m->kinds = kinds;
	for (; m->n_kinds < n; m->n_kinds++)
		kinds[m->n_kinds] = (struct live_kind){ 0, CONTEXT_UNKNOWN };
	return true;
}

static bool reserve_effects(struct massif *m, uint32_t n)
{
	struct effect *effects;

	if (n <= m->n_effects)
		return true;
	effects = realloc(m->effects, n * sizeof(*effects));
	if (!effects)
		return false;
	m->effects = effects;
	m->n_effects = n;
	return true;
}

/* What a block takes: a block that shrank in place keeps what it had. */
static uint64_t usable_bytes(const struct settings *settings, const struct mst_kind *kind)
{
	const uint64_t mask = settings->alignment - 1;

	return (kind->cap + mask) & ~mask;
}

static struct effect effect_of(const struct massif *m, const struct mst_kind *kind, enum mst_role role,
			       bool counted)
{
	const uint64_t total = usable_bytes(m->settings, kind) + m->settings->heap_admin;
	struct effect e = { .action = NOTHING, .counted = counted };

	if (role == MST_CALL || role == MST_KEEP)
		return e;
	e.comes = role == MST_ALLOC;
	e.useful = e.comes ? kind->size : -kind->size;
	e.total = e.comes ? total : -total;
	if (m->settings->time_unit == TIME_BYTES)
		e.clock = total;
	if (role == MST_OUT)
		e.action = PAIR;
	else if (counted)
		e.action = e.comes ? COMES : GOES;
	return e;
}

/* Finds out whether blocks of a kind count when the first of them comes or goes. False: no memory. */
static bool find_context(struct massif *m, const struct mst_symbol *symbol, const struct mst_kind *kind)
{
	uint32_t *context = &m->kinds[symbol->kind].context;

	if (*context != CONTEXT_UNKNOWN || symbol->role == MST_CALL || symbol->role == MST_KEEP)
		return true;
	if (kind->op == MST_OP_UNKNOWN)
		*context = CONTEXT_IGNORED;
	else
		*context = contexts_find(&m->contexts, m->reader, kind->stack);
	return *context != CONTEXT_UNKNOWN;
}

/* Symbols are in the order of their first records, which is what contexts_find() asks for. */
static bool prepare_chunk(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n_kinds);

	if (!reserve_kinds(m, n_kinds) || !reserve_effects(m, chunk->n_symbols))
		return false;
	for (uint32_t i = 0; i < chunk->n_symbols; i++) {
		const struct mst_symbol *symbol = &chunk->symbols[i];
		const struct mst_kind *kind = &kinds[symbol->kind];

		if (!find_context(m, symbol, kind))
			return false;
		m->effects[i] = effect_of(m, kind, symbol->role,
					  m->kinds[symbol->kind].context < CONTEXT_IGNORED);
	}
	return true;
}

static int massif_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;

	if (!m->settings->heap)
		return 0;
	m->reader = reader;
	m->chunk = chunk;
	m->applied = 0;
	if (!prepare_chunk(m))
		return MST_ERR_NOMEM;
	run_chunk(m);
	if (!fill_detailed(m) || !fill_marks(m, chunk->n_records))
		return MST_ERR_NOMEM;
	apply_records(m, chunk->n_records);
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

static int massif_end(struct observer *observer, const struct mst_reader *reader)
{
	struct massif *m = (struct massif *)observer;
	struct snapshot end = snapshot_of(SNAPSHOT_NORMAL, &m->counters, 0);

	(void)reader;
	end.detailed = true;
	for (size_t i = m->marks.taken; i < m->settings->n_ats; i++) {
		if (m->settings->ats[i].kind == AT_PEAK)
			continue;
		m->marks.ats[i] = end;
		if (m->settings->heap && !(m->marks.ats[i].live = copy_live(m)))
			return MST_ERR_NOMEM;
	}
	return end_peak(m) ? 0 : MST_ERR_NOMEM;
}

/* ---- life ---- */

static const struct observer_impl massif_impl = { .chunk = massif_chunk, .end = massif_end };

struct massif *massif_create(const struct settings *settings, struct naming *naming)
{
	struct massif *m = calloc(1, sizeof(*m));
	bool fine;

	if (!m)
		return NULL;
	m->observer.impl = &massif_impl;
	m->settings = settings;
	fine = marks_init(&m->marks, settings) && contexts_init(&m->contexts, settings, naming, CONTEXTS_SHOWN) &&
	       snapshots_init(&m->snapshots, settings);
	if (fine) {
		/* Massif considers a snapshot before the first instruction of the program. */
		store(m, SNAPSHOT_NORMAL, m->counters, 0);
		fine = fill_detailed(m);
	}
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
	contexts_finish(&m->contexts);
	snapshots_finish(&m->snapshots);
	marks_finish(&m->marks);
	free(m->kinds);
	free(m->effects);
	free(m);
}

struct observer *massif_observer(struct massif *m)
{
	return &m->observer;
}

struct snapshot massif_at(const struct massif *m, size_t i)
{
	const bool peak = m->settings->ats[i].kind == AT_PEAK;
	struct snapshot s = peak ? m->marks.peak : m->marks.ats[i];

	s.kind = SNAPSHOT_NORMAL;
	if (peak)
		s.live = m->peak->live;
	return s;
}

const struct snapshot *massif_snapshots(const struct massif *m, size_t *n)
{
	*n = m->snapshots.n;
	return m->snapshots.items;
}

struct tree *massif_tree(const struct massif *m, const struct snapshot *snapshot)
{
	const struct live *live = snapshot->live;
	struct tree_input in = {
		.leaves = malloc((live->n + (size_t)1) * sizeof(*in.leaves)),
		.n_leaves = live->n,
		.more = snapshot->extra + snapshot->stacks,
		.threshold = m->settings->threshold,
		.naming = m->contexts.naming,
	};
	struct tree *tree;
	uint32_t n_stacks;

	if (!in.leaves)
		return NULL;
	for (uint32_t i = 0; i < live->n; i++) {
		const struct context *c = &m->contexts.items[i];

		in.leaves[i] = (struct tree_leaf){ .bytes = live->bytes[i], .stack = c->stack, .n = c->n };
	}
	if (m->reader) {
		in.stacks = mst_reader_stacks(m->reader, &n_stacks);
		mst_reader_frames(m->reader, &in.n_frames);
	}
	tree = tree_build(&in);
	free(in.leaves);
	return tree;
}
