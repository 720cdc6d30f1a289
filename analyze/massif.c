/* SPDX-License-Identifier: MIT */
/*
 * Massif's counters over a trace. What a record does to them is looked up in a table made for each
 * chunk; live blocks are counted by kind only where a tree is wanted and at chunk ends.
 *
 * Differences from Massif 3.19, all repairs: a realloc between ignored and counted functions is a
 * free or an allocation (3.19 leaves bytes behind); a failed realloc leaves its block as it was.
 */
#include "massif.h"

#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "snapshot.h"
#include "tree.h"

#define NS_PER_MS 1000000u

/* What a record of a symbol does. */
struct effect {
	int64_t useful, total;          /* bytes; total includes admin and rounding */
	uint64_t size;                  /* requested */
	uint8_t role;                   /* enum mst_role */
	bool counted;
};

struct massif {
	struct observer observer;
	const struct settings *settings;
	struct contexts contexts;
	struct snapshots snapshots;

	/* The counters. Signed: a damaged or lossy trace may free more than it allocates. */
	int64_t useful, total;
	uint64_t clock_b;               /* time in bytes moved */
	int64_t clock_ms;

	/* Blocks by kind, over all records before `applied` of the present chunk. */
	int64_t *live;
	bool *seen;                     /* by kind: has been allocated */
	uint32_t n_kinds;
	uint32_t applied;

	/* The present chunk. */
	const struct mst_reader *reader;
	const struct mst_chunk *chunk;
	struct effect *effects;
	uint32_t stamp;                 /* the next one to come */
	uint32_t n_effects;
	bool failed;
};

/* ---- kinds ---- */

static bool reserve_kinds(struct massif *m, uint32_t n)
{
	int64_t *live;
	bool *seen;

	if (n <= m->n_kinds)
		return true;
	n += n / 2;
	live = realloc(m->live, n * sizeof(*live));
	if (live)
		m->live = live;
	seen = realloc(m->seen, n * sizeof(*seen));
	if (seen)
		m->seen = seen;
	if (!live || !seen)
		return false;
	memset(live + m->n_kinds, 0, (n - m->n_kinds) * sizeof(*live));
	memset(seen + m->n_kinds, 0, (n - m->n_kinds) * sizeof(*seen));
	m->n_kinds = n;
	return true;
}

/* What a block takes: a block that shrank in place keeps what it had. */
static uint64_t usable_bytes(const struct settings *settings, const struct mst_kind *kind)
{
	const uint64_t mask = settings->alignment - 1;

	return kind->cap > UINT64_MAX - mask ? UINT64_MAX & ~mask : (kind->cap + mask) & ~mask;
}

static void apply_symbol(struct massif *m, const struct mst_symbol *symbol, int64_t count)
{
	if (symbol->role == MST_ALLOC)
		m->live[symbol->kind] += count;
	else if (symbol->role == MST_FREE || symbol->role == MST_OUT)
		m->live[symbol->kind] -= count;
	if (symbol->role == MST_ALLOC && !m->seen[symbol->kind]) {
		const struct effect *e = &m->effects[symbol - m->chunk->symbols];
		uint32_t n;
		const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n);

		m->seen[symbol->kind] = true;
		if (e->counted)
			places_exist(&m->contexts.places,
				     contexts_place(&m->contexts, m->reader, kinds[symbol->kind].stack));
	}
}

/* Counts the live blocks as they are after the first `n` records of the chunk. */
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

/* ---- snapshots ---- */

static uint64_t positive(int64_t n)
{
	return n > 0 ? (uint64_t)n : 0;
}

/* The tree after the first `n` records of the chunk. */
static struct tree *build_tree(struct massif *m, uint32_t n)
{
	struct places *places = &m->contexts.places;
	const struct mst_kind *kinds = NULL;
	uint32_t n_kinds = 0;

	if (!places_clear(places))
		return NULL;
	if (m->chunk) {
		apply_records(m, n);
		kinds = mst_reader_kinds(m->reader, &n_kinds);
	}
	for (uint32_t i = 1; i < n_kinds && i < m->n_kinds; i++) {
		uint32_t place;

		if (!m->seen[i] || m->live[i] <= 0)
			continue;
		place = contexts_place(&m->contexts, m->reader, kinds[i].stack);
		if (place < CONTEXT_IGNORED)
			places->bytes[place] += kinds[i].size * (uint64_t)m->live[i];
	}
	return tree_build(places, positive(m->total - m->useful), m->settings->threshold,
			  m->contexts.naming);
}

static int64_t time_now(const struct massif *m)
{
	return m->settings->time_unit == TIME_BYTES ? (int64_t)m->clock_b : m->clock_ms;
}

/* Keeps the present moment, the first `n` records of the chunk being done. */
static void take_snapshot(struct massif *m, enum snapshot_kind kind, uint32_t n)
{
	struct snapshot s = {
		.kind = kind,
		.time = time_now(m),
		.heap = positive(m->useful),
		.extra = positive(m->total - m->useful),
	};
	const bool detailed = kind == SNAPSHOT_PEAK || snapshots_detail_next(&m->snapshots);

	if (detailed && m->settings->heap) {
		s.tree = build_tree(m, n);
		m->failed |= !s.tree;
	}
	snapshots_store(&m->snapshots, &s);
}

/* After something happened. */
static inline void consider_normal(struct massif *m, uint32_t n)
{
	if (time_now(m) >= m->snapshots.earliest)
		take_snapshot(m, SNAPSHOT_NORMAL, n);
}

/* Before something is given back. */
static inline void consider_peak(struct massif *m, uint32_t n)
{
	if (m->total > 0 && (uint64_t)m->total > m->snapshots.peak_limit)
		take_snapshot(m, SNAPSHOT_PEAK, n);
}

/* ---- records ---- */

static inline void change(struct massif *m, int64_t useful, int64_t total)
{
	m->useful += useful;
	m->total += total;
	m->clock_b += (uint64_t)(total < 0 ? -total : total);
}

static void do_alloc(struct massif *m, const struct effect *e, uint32_t i)
{
	if (!e->counted)
		return;
	change(m, e->useful, e->total);
	consider_normal(m, i + 1);
}

/* `n` records make up the call: a free by realloc is two. */
static void do_free(struct massif *m, const struct effect *e, uint32_t i, uint32_t n)
{
	if (!e->counted)
		return;
	consider_peak(m, i);
	change(m, -e->useful, -e->total);
	consider_normal(m, i + n);
}

static void do_realloc(struct massif *m, const struct effect *old, const struct effect *new, uint32_t i)
{
	if (!new->counted) {
		do_free(m, old, i, 2);
	} else if (!old->counted) {
		do_alloc(m, new, i + 1);
	} else {
		if (new->size < old->size)
			consider_peak(m, i);
		change(m, new->useful - old->useful, new->total - old->total);
		consider_normal(m, i + 2);
	}
}

static void tick(struct massif *m, uint32_t i)
{
	const struct mst_chunk *chunk = m->chunk;
	const unsigned shift = mst_reader_time_shift(m->reader);

	while (m->stamp < chunk->n_stamps && chunk->stamps[m->stamp].record <= i)
		m->clock_ms = (int64_t)((chunk->stamps[m->stamp++].time << shift) / NS_PER_MS);
}

static void run_chunk(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t next_stamp = 0;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const struct effect *e = &m->effects[chunk->records[i]];

		if (i >= next_stamp) {
			tick(m, i);
			next_stamp = m->stamp < chunk->n_stamps ? chunk->stamps[m->stamp].record : UINT32_MAX;
		}
		switch ((enum mst_role)e->role) {
		case MST_ALLOC:
			do_alloc(m, e, i);
			break;
		case MST_FREE:
			do_free(m, e, i, 1);
			break;
		case MST_OUT:
			/* The reader has proved that there is a next record. */
			if (m->effects[chunk->records[i + 1]].role == MST_ALLOC)
				do_realloc(m, e, &m->effects[chunk->records[i + 1]], i);
			else
				do_free(m, e, i, 2);
			i++;
			break;
		case MST_KEEP:
			i++;
			break;
		case MST_CALL:
			break;
		}
	}
	apply_records(m, chunk->n_records);
}

static bool prepare_chunk(struct massif *m)
{
	const struct mst_chunk *chunk = m->chunk;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n_kinds);

	if (!reserve_kinds(m, n_kinds))
		return false;
	if (chunk->n_symbols > m->n_effects) {
		struct effect *effects = realloc(m->effects, chunk->n_symbols * sizeof(*effects));

		if (!effects)
			return false;
		m->effects = effects;
		m->n_effects = chunk->n_symbols;
	}
	for (uint32_t i = 0; i < chunk->n_symbols; i++) {
		const struct mst_symbol *symbol = &chunk->symbols[i];
		const struct mst_kind *kind = &kinds[symbol->kind];
		struct effect *e = &m->effects[i];
		uint32_t place = CONTEXT_IGNORED;

		if (kind->op != MST_OP_UNKNOWN && symbol->role != MST_CALL && symbol->role != MST_KEEP)
			place = contexts_place(&m->contexts, m->reader, kind->stack);
		if (place == CONTEXT_UNKNOWN)
			return false;
		*e = (struct effect){
			.useful = (int64_t)kind->size,
			.total = (int64_t)(usable_bytes(m->settings, kind) + m->settings->heap_admin),
			.size = kind->size,
			.role = (uint8_t)symbol->role,
			.counted = place != CONTEXT_IGNORED,
		};
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
	m->stamp = 0;
	if (!prepare_chunk(m))
		return MST_ERR_NOMEM;
	run_chunk(m);
	return m->failed ? MST_ERR_NOMEM : 0;
}

/* ---- life ---- */

static const struct observer_impl massif_impl = { .chunk = massif_chunk };

struct massif *massif_create(const struct settings *settings, struct naming *naming)
{
	struct massif *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->observer.impl = &massif_impl;
	m->settings = settings;
	if (!contexts_init(&m->contexts, settings, naming) || !snapshots_init(&m->snapshots, settings)) {
		massif_destroy(m);
		return NULL;
	}
	/* Massif considers a snapshot before the first instruction of the program. */
	consider_normal(m, 0);
	if (m->failed) {
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
	free(m->live);
	free(m->seen);
	free(m->effects);
	free(m);
}

struct observer *massif_observer(struct massif *m)
{
	return &m->observer;
}

const struct snapshot *massif_snapshots(const struct massif *m, size_t *n)
{
	*n = m->snapshots.n;
	return m->snapshots.items;
}
