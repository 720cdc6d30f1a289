/* SPDX-License-Identifier: MIT */
/*
 * The live blocks follow the counters only as far as trees ask for them: a snapshot notes its place in the chunk, and
 * at the chunk's end records are applied up to the place of each one that is left and needs a tree.
 */
#include <stdlib.h>
#include <string.h>

#include "massif_state.h"

/* ---- records ---- */

/* One by one, in their order, as the effects are listed. */
static void apply_listed(struct massif *m, uint32_t n)
{
	const struct mst_chunk *chunk = m->chunk;

	for (; m->applied < n; m->applied++)
		live_totals_add(&m->live, chunk->tokens[chunk->records[m->applied]].kind, false,
				m->block_effects.effects[m->applied].live);
}

/* Applies so many more records of the token. */
static void apply_token(struct massif *m, uint32_t token, uint32_t n)
{
	struct tally *tally = &m->tokens.tallies[token];

	live_totals_add(&m->live, m->chunk->tokens[token].kind, false,
			m->tokens.effects[token].live * (int64_t)n);
	tally->applied += n;
	assert(tally->applied <= m->chunk->tokens[token].count);
}

/* Counts the records [i, end) by token. In turn, for the same one often comes twice in a row. */
static void count(struct massif *m, uint32_t i, uint32_t end)
{
	const uint16_t *records = m->chunk->records;
	struct tally *tallies = m->tokens.tallies;

	for (; i + 2 <= end; i += 2) {
		tallies[records[i]].counted[0]++;
		tallies[records[i + 1]].counted[1]++;
	}
	if (i < end)
		tallies[records[i]].counted[0]++;
}

/* Counts records by token first: there are far fewer tokens, as a rule. All of a chunk's are counted already. */
static void apply_tallies(struct massif *m, uint32_t n)
{
	const struct mst_chunk *chunk = m->chunk;
	const bool all = n == chunk->n_records;
	struct tally *tallies = m->tokens.tallies;

	if (m->applied == 0)
		memset(tallies, 0, chunk->n_tokens * sizeof(*tallies));
	if (!all && n - m->applied < chunk->n_tokens) {
		for (uint32_t i = m->applied; i < n; i++)
			apply_token(m, chunk->records[i], 1);
		m->applied = n;
		return;
	}
	if (!all)
		count(m, m->applied, n);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const uint32_t counted = tallies[i].counted[0] + tallies[i].counted[1];
		const uint32_t more = all ? chunk->tokens[i].count - tallies[i].applied : counted;

		if (more)
			apply_token(m, i, more);
		tallies[i].counted[0] = tallies[i].counted[1] = 0;
	}
	m->applied = n;
}

void massif_apply_records(struct massif *m, uint32_t n)
{
	if (m->pages.mapped || n <= m->applied)
		return;
	assert(n <= m->chunk->n_records);
	if (is_by_record(m))
		apply_listed(m, n);
	else
		apply_tallies(m, n);
}

/* ---- snapshots ---- */

struct live *massif_copy_live(const struct massif *m)
{
	return m->pages.mapped ? massif_copy_pages(m) : live_totals_copy(&m->live);
}

bool massif_fill_requested(struct massif *m, uint32_t until)
{
	struct snapshot *pending;

	while ((pending = requested_pending(&m->requested)) && pending->records <= until) {
		struct live *live;

		if (m->settings->heap)
			massif_apply_records(m, pending->records);
		live = m->settings->heap ? massif_copy_live(m) : NULL;
		if (!live && m->settings->heap)
			return false;
		requested_fill(&m->requested, pending, live);
	}
	return true;
}

bool massif_fill_detailed(struct massif *m)
{
	struct snapshots *all = &m->snapshots;

	if (!m->took_snapshots || !m->settings->heap)
		return true;
	for (size_t i = 0; i < all->n; i++) {
		struct snapshot *s = &all->items[i];

		if (!s->detailed || s->live)
			continue;
		if (!massif_fill_requested(m, s->records))
			return false;
		if (m->chunk)
			massif_apply_records(m, s->records);
		s->live = massif_copy_live(m);
		if (!s->live)
			return false;
	}
	m->took_snapshots = false;
	return true;
}

void massif_keep_all(struct massif *m)
{
	if (!massif_fill_detailed(m) ||
	    !requested_copy_due(&m->requested, m->snapshots.items, m->snapshots.n))
		m->failed = true;
}
