/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "array.h"
#include "profile_state.h"
#include "token_counts.h"

/* An upper bound of the totals inside of the chunk. */
static uint64_t highest_total(const struct profile *p, const struct mst_chunk *chunk)
{
	const struct mst_sums *sums = &chunk->sums;
	const struct settings *s = p->settings;
	int64_t bytes;
	if (p->mean)
		return UINT64_MAX; /* the sums are those of the recorded blocks */
	if (s->usable == USABLE_REQUESTED)
		bytes = sums->max_bytes;
	else if (s->usable == USABLE_ROUNDED && s->alignment == 16)
		bytes = sums->max_bytes16;
	else
		return UINT64_MAX;
	return p->total + (uint64_t)bytes + (uint64_t)sums->max_blocks * s->heap_admin;
}

bool profile_can_peak(const struct profile *p, const struct mst_chunk *chunk)
{
	return p->query->at.kind == AT_PEAK && highest_total(p, chunk) > p->best;
}

/* Adds `n` records of each token. */
static int add_tokens(struct profile *p, const struct mst_chunk *chunk, const uint32_t *n)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *s = &chunk->tokens[i];
		if (n[i] == 0 || s->role >= MST_CALL || !profile_counts(p, s->kind))
			continue;
		const uint32_t id = row_table_first(&p->table, s->kind);
		if (id == NO_ROW)
			return MST_ERR_NOMEM;
		struct row *row = row_table_change(&p->table, id);
		row->live += s->role == MST_ALLOC ? n[i] : -(uint64_t)n[i];
		if (s->role == MST_ALLOC && !p->initial)
			row->allocated += n[i];
		p->total += n[i] * profile_change(p, s);
	}
	return 0;
}

static bool reserve_tokens(struct profile *p, uint32_t n)
{
	return n == 0 ||
	       (array_reserve(&p->tokens.changes, n - 1, &p->tokens.room_changes, sizeof(uint64_t)) &&
		array_reserve(&p->tokens.counts, n - 1, &p->tokens.room_counts, sizeof(uint32_t)));
}

enum { ROW = 16 }; /* records whose totals are compared with the best one at once */

/* The highest total, or 0, after one of the `n` records; adds them all to *total. */
static inline uint64_t highest_of_row(const uint64_t *changes, const uint16_t *records, uint32_t n,
				      uint64_t *total)
{
	uint64_t sum = *total, highest = 0;
	for (uint32_t i = 0; i < n; i++) {
		sum += changes[records[i]];
		highest = sum > highest ? sum : highest;
	}
	*total = sum;
	return highest;
}

/* How many records take the total to the best one, which one of them does. */
static uint32_t reaches(const struct profile *p, const uint16_t *records, uint64_t total)
{
	uint32_t n = 0;
	do
		total += p->tokens.changes[records[n++]];
	while (total != p->best);
	return n;
}

/*
 * The number of records up to the chunk's largest total, if that is above the best so far; else 0. Reallocs need no
 * special case: the first record of one makes the total smaller, so no peak lies between its two records.
 */
static uint32_t find_peak(struct profile *p, const struct mst_chunk *chunk)
{
	const uint64_t before = p->best;
	uint64_t total = p->total, start = total;
	uint32_t row = 0;
	if (!profile_can_peak(p, chunk))
		return 0;
	assert(chunk->records);
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		p->tokens.changes[i] = profile_change(p, &chunk->tokens[i]);
	for (uint32_t i = 0; i < chunk->n_records; i += ROW) {
		const uint16_t *const records = &chunk->records[i];
		const uint32_t left = chunk->n_records - i;
		const uint64_t at_start = total;
		const uint64_t most = left < ROW ? highest_of_row(p->tokens.changes, records, left, &total)
						 : highest_of_row(p->tokens.changes, records, ROW, &total);
		if (most > p->best) {
			p->best = most;
			row = i;
			start = at_start;
		}
	}
	return p->best > before ? row + reaches(p, chunk->records + row, start) : 0;
}

/* Counts, from 0, how often each token occurs among the first `n` records. Of these and the others it looks at the fewer. */
static void count_tokens(const struct mst_chunk *chunk, uint32_t n, uint32_t *counts)
{
	const bool others = n > chunk->n_records / 2;
	const uint32_t end = others ? chunk->n_records : n;
	token_counts_add(chunk, others ? n : 0, end, counts);
	for (uint32_t i = 0; i < chunk->n_tokens && others; i++)
		counts[i] = chunk->tokens[i].count - counts[i];
}

int profile_add_sums(struct profile *p, const struct mst_chunk *chunk)
{
	if (!reserve_tokens(p, chunk->n_tokens))
		return MST_ERR_NOMEM;
	uint32_t *const counts = p->tokens.counts;
	const uint32_t peak = find_peak(p, chunk);
	int error = 0;
	assert(peak <= chunk->n_records);
	memset(counts, 0, chunk->n_tokens * sizeof(*counts));
	if (peak) {
		count_tokens(chunk, peak, counts);
		error = add_tokens(p, chunk, counts);
		p->table.point++;
		p->point_ns = profile_record_ns(p, chunk, peak - 1);
	}
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		assert(counts[i] <= chunk->tokens[i].count);
		counts[i] = chunk->tokens[i].count - counts[i];
	}
	if (!error)
		error = add_tokens(p, chunk, counts);
	p->now_ns = chunk->last_time << p->time_shift;
	return error;
}
