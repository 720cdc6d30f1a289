/* SPDX-License-Identifier: MIT */
/*
 * Massif's observer: a chunk comes, and is accounted by its records or (chunk_sums.c) by its sums; at the chunk's end
 * its snapshots get what their trees are made of.
 */
#include <stdlib.h>

#include "check.h"
#include "massif_state.h"

__attribute__((noinline)) void massif_stored(struct massif *m, enum snapshot_kind kind)
{
	snapshots_store(&m->snapshots);
	m->took_snapshots = true;
	m->n_normal += kind == SNAPSHOT_NORMAL;
}

/* ---- chunks ---- */

static bool reserve_tokens(struct token_table *tokens, uint32_t n)
{
	struct effect *effects;
	struct tally *tallies;

	if (n <= tokens->capacity)
		return true;
	effects = realloc(tokens->effects, n * sizeof(*effects));
	if (!effects)
		return false;
	tokens->effects = effects;
	tallies = realloc(tokens->tallies, n * sizeof(*tallies));
	if (!tallies)
		return false;
	tokens->tallies = tallies;
	tokens->capacity = n;
	return true;
}

/*
 * In the order of first use, which is what shown_stacks_find() asks for, and which tokens are in. What
 * is done with a block that Massif has forgotten is no use. False: no memory.
 */
static bool find_contexts(struct massif *m, const struct mst_kind *kinds)
{
	const struct mst_chunk *chunk = m->chunk;
	const bool by_record = m->block_effects.sizes && !chunk->initial &&
			       block_sizes_has_forgotten(m->block_effects.sizes);
	const uint64_t *blocks = by_record ? block_sizes_blocks(m->block_effects.sizes) : NULL;
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

	if (!live_totals_reserve(&m->live, n_kinds) || !reserve_tokens(&m->tokens, chunk->n_tokens) ||
	    !find_contexts(m, kinds))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[token->kind];
		struct effect *e = &m->tokens.effects[i];

		*e = effect_of(m->settings, kind, token->role, live_totals_counted(&m->live, token->kind),
			       effect_usable(m->settings, kind), mst_reader_info(m->reader)->sample_bytes);
		/* Massif's mistakes need what uncounted blocks would take. */
		if (!e->counted && m->settings->compat == COMPAT_FIXED)
			e->useful = e->total = 0;
	}
	return !m->block_effects.sizes || block_effects_begin(&m->block_effects, chunk, m->tokens.effects);
}

void massif_enter_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	m->reader = reader;
	m->chunk = chunk;
	m->applied = 0;
	clock_enter_chunk(&m->clock, reader, chunk);
}

bool massif_begin_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	massif_enter_chunk(m, reader, chunk);
	if (!m->tokens.ready)
		m->tokens.ready = !m->settings->heap || prepare_chunk(m);
	return m->tokens.ready;
}

/* What the counters have beside the live blocks; the records of a chunk don't change it, if tokens say it all. */
static uint64_t surplus(const struct massif *m)
{
	const bool known = m->settings->heap && !is_by_record(m) && m->settings->compat == COMPAT_FIXED;

	return check_wanted() && known ? m->counters.useful - live_totals_bytes(&m->live) : 0;
}

static int massif_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct massif *m = (struct massif *)observer;
	uint64_t before;

	massif_note_requests(m);
	if (!m->settings->heap && !m->depths)
		return 0;
	if (m->pages.mapped) {
		massif_enter_chunk(m, reader, chunk);
		return chunk->initial ? massif_take_initial_state(m) : massif_run_pages(m);
	}
	if (!massif_begin_chunk(m, reader, chunk))
		return MST_ERR_NOMEM;
	m->tokens.ready = false;
	before = surplus(m);
	if (chunk->initial)
		massif_take_initial_state(m);
	else
		massif_run_records(m);
	if (m->failed || !massif_fill_detailed(m) || !massif_fill_requested(m, chunk->n_records))
		return MST_ERR_NOMEM;
	if (m->settings->heap)
		massif_apply_records(m, chunk->n_records);
	assert(!m->settings->heap || m->applied == chunk->n_records);
	assert(surplus(m) == before);
	assert(!check_wanted() || live_totals_are_sound(&m->live));
	return 0;
}

/* ---- the end ---- */

/* False: no memory. */
static bool end_peak(struct massif *m)
{
	struct snapshot *peak = &m->requested.peak;

	if (m->settings->exact_peak && m->requested.highest) {
		m->peak = snapshots_set_peak(&m->snapshots, peak);
		return true;
	}
	m->peak = peak;
	if (m->requested.highest == 0 && m->settings->heap)
		peak->live = calloc(1, sizeof(*peak->live));
	return m->requested.highest != 0 || !m->settings->heap || peak->live;
}

/* A request for the end, or for a time after it. False: no memory. */
static bool end_request(struct massif *m, const struct at *at, struct request *request)
{
	request->one = snapshot_of(SNAPSHOT_NORMAL, &m->counters, 0);
	request->one.detailed = at->what == AT_DETAILED;
	if (request->one.detailed && m->settings->heap)
		request->one.live = massif_copy_live(m);
	return !request->one.detailed || !m->settings->heap || request->one.live;
}

static int massif_end(struct observer *observer, const struct mst_reader *reader)
{
	struct massif *m = (struct massif *)observer;

	(void)reader;
	if (m->pages.mapped)
		massif_end_pages(m);
	/* Points after the last call come before the end itself, which has the true peak if that is wanted. */
	if (!requested_copy_points(&m->requested, m->snapshots.items, m->snapshots.n) || !end_peak(m))
		return MST_ERR_NOMEM;
	for (size_t i = 0; i < m->settings->n_ats; i++) {
		const struct at *at = &m->settings->ats[i];
		struct request *request = &m->requested.requests[i];

		if (!requested_is_taken(&m->requested, i) && at->kind != AT_PEAK &&
		    !end_request(m, at, request))
			return MST_ERR_NOMEM;
	}
	return requested_copy_all(&m->requested, m->snapshots.items, m->snapshots.n) ? 0 : MST_ERR_NOMEM;
}

/* ---- life ---- */

static const struct observer_impl massif_impl = {
	.chunk = massif_chunk,
	.sums_suffice = massif_sums_suffice,
	.sums = massif_sums,
	.satisfied = massif_satisfied,
	.end = massif_end,
};

/* Columns that the settings have nothing to do with. */
static unsigned spared_columns(const struct settings *s)
{
	return s->pages_as_heap ? MST_AGES : MST_ALL_COLUMNS & ~clock_columns(s->time_unit);
}

/* Whether Massif's own snapshots are written nowhere. */
static bool is_snapshotless(const struct settings *s)
{
	bool without = s->only_moments && !s->stats;

	for (size_t i = 0; i < s->n_ats; i++)
		without &= s->ats[i].what != AT_ALL;
	return without;
}

/* Massif considers a snapshot before the first instruction of the program. False: no memory. */
static bool begin_counting(struct massif *m)
{
	if (m->settings->pages_as_heap) {
		m->pages.mapped = pages_create(m->settings->compat == COMPAT_FIXED);
		if (!m->pages.mapped)
			return false;
	} else {
		massif_store(m, SNAPSHOT_NORMAL, &m->counters, 0);
	}
	if (is_snapshotless(m->settings))
		m->snapshots.earliest = m->snapshots.peak_limit = UINT64_MAX;
	return true;
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
	m->block_effects = (struct block_effects){ .settings = settings, .sizes = helpers->sizes };
	m->depths = helpers->depths;
	m->log = helpers->log;
	clock_init(&m->clock, settings);
	fine = requested_init(&m->requested, settings) && live_totals_init(&m->live, settings, symbolizer) &&
	       snapshots_init(&m->snapshots, settings, helpers->log) && begin_counting(m) &&
	       massif_fill_detailed(m);
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
	requested_finish(&m->requested);
	block_effects_finish(&m->block_effects);
	pages_destroy(m->pages.mapped);
	free(m->quiet.sums);
	free(m->tokens.effects);
	free(m->tokens.tallies);
	free(m);
}

struct observer *massif_observer(struct massif *m)
{
	return &m->observer;
}

const struct snapshot *massif_at(const struct massif *m, size_t i, struct snapshot *one, size_t *n)
{
	const struct at *at = &m->settings->ats[i];
	const struct request *request = &m->requested.requests[i];

	*n = request->n_all;
	if (at->what == AT_ALL)
		return request->all;
	*n = 1;
	*one = at->kind == AT_PEAK ? m->requested.peak : request->one;
	one->kind = SNAPSHOT_NORMAL;
	if (at->kind == AT_PEAK)
		one->live = at->what == AT_DETAILED ? m->peak->live : NULL;
	return one;
}

uint64_t massif_last_time(const struct massif *m)
{
	return m->counters.clock;
}

bool massif_is_point_here(const struct massif *m, uint32_t *records)
{
	const struct requested *r = &m->requested;

	assert(m->settings->n_ats > 0);
	switch (m->settings->ats[0].kind) {
	case AT_PEAK:
		*records = r->peak.records;
		return r->highest != m->before.highest;
	case AT_TIME:
	case AT_MARK:
		*records = r->requests[0].one.records;
		return r->times.taken + r->marks.taken > 0 && m->before.taken == 0;
	case AT_END:
		break;
	}
	return false;
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
	const bool merged = m->settings->compat != COMPAT_FIXED;

	return live_totals_tree(&m->live, m->reader, merged, &in);
}
