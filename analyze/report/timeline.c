/* SPDX-License-Identifier: MIT */
/*
 * Changes of the present bucket are added up by stack in `pending`, and appended to a log when the bucket ends. A log
 * that grows too long is rewritten with half the buckets.
 */
#include "timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sample_weight.h"
#include "stamps.h"
#include "token_counts.h"

/* The longest log that is kept in full: 96 MiB. */
#define MAX_CHANGES ((size_t)4 << 20)

struct change {
	uint32_t stack;
	uint64_t bytes; /* modulo 2^64 */
};

struct pending {
	uint64_t bytes;
	bool touched;
};

/*
 * Invariants: ends[] never fall, and the last one of n_buckets is n_changes; a stack is in `touched`, once, if and only if its
 * `pending` says so; TIMELINE_BUCKETS buckets of span_ns reach beyond end_ns; `counts` is zero between uses.
 */
struct timeline {
	struct observer observer;
	uint64_t begin_ns, end_ns;
	uint64_t span_ns; /* of a bucket */

	/* Buckets that have ended; what is left is the present one, number n_buckets. */
	struct timeline_point points[TIMELINE_BUCKETS];
	size_t ends[TIMELINE_BUCKETS]; /* the changes before this one are of the bucket or an earlier one */
	uint32_t n_buckets;
	struct change *changes;
	size_t n_changes, room_changes;

	struct timeline_point now; /* of the present bucket so far */
	struct pending *pending;   /* by stack */
	uint32_t room_pending;
	uint32_t *touched; /* stacks with pending changes */
	uint32_t n_touched, room_touched;

	uint32_t *counts; /* scratch: records by token */
	uint32_t room_counts;

	/* Of the trace, and of the present chunk. */
	const struct mst_kind *kinds;
	uint64_t mean; /* of a sample, else 0 */
	unsigned time_shift;
};

/* Calls behind the end, of the millisecond in which a filter cuts, are in its bucket. */
static uint32_t bucket_at(const struct timeline *t, uint64_t time_ns)
{
	if (time_ns > t->end_ns)
		time_ns = t->end_ns;
	if (time_ns <= t->begin_ns)
		return 0;
	const uint64_t bucket = (time_ns - t->begin_ns) / t->span_ns;
	return bucket < TIMELINE_BUCKETS ? (uint32_t)bucket : TIMELINE_BUCKETS - 1;
}

/* ---- The log ---- */

static inline bool add_pending(struct timeline *t, uint32_t stack, uint64_t bytes)
{
	struct pending *p = &t->pending[stack];
	assert(stack < t->room_pending);
	if (!p->touched) {
		if (!array_reserve(&t->touched, t->n_touched, &t->room_touched, sizeof(*t->touched)))
			return false;
		t->touched[t->n_touched++] = stack;
		p->touched = true;
	}
	p->bytes += bytes;
	return true;
}

/* Appends the pending changes to the log. */
static bool end_bucket(struct timeline *t)
{
	assert(t->n_buckets < TIMELINE_BUCKETS);
	for (uint32_t i = 0; i < t->n_touched; i++) {
		struct pending *p = &t->pending[t->touched[i]];
		if (p->bytes) {
			if (!array_reserve(&t->changes, t->n_changes, &t->room_changes, sizeof(*t->changes)))
				return false;
			t->changes[t->n_changes++] = (struct change){ t->touched[i], p->bytes };
		}
		*p = (struct pending){ 0 };
	}
	t->n_touched = 0;
	t->ends[t->n_buckets] = t->n_changes;
	t->points[t->n_buckets++] = t->now;
	t->now.allocated = t->now.calls = 0;
	return true;
}

/* Makes one bucket of two. All pending changes must have been appended. */
static bool merge_pairs(struct timeline *t)
{
	const uint32_t n = t->n_buckets;
	struct timeline_point points[TIMELINE_BUCKETS];
	size_t from = 0;
	assert(t->n_touched == 0);
	memcpy(points, t->points, sizeof(points));
	t->n_buckets = 0;
	t->n_changes = 0;
	for (uint32_t i = 0; i < n; i += 2) {
		const uint32_t last = i + 1 < n ? i + 1 : i;
		const size_t end = t->ends[last];
		for (; from < end; from++) {
			if (!add_pending(t, t->changes[from].stack, t->changes[from].bytes))
				return false;
		}
		const struct timeline_point now = t->now;
		t->now = points[last];
		if (last != i) {
			t->now.allocated += points[i].allocated;
			t->now.calls += points[i].calls;
		}
		/* The log is never longer than what it is made of. */
		if (!end_bucket(t))
			return false;
		t->now = now;
	}
	t->span_ns *= 2;
	return true;
}

/* Ends the buckets before `bucket`. */
static bool move_to(struct timeline *t, uint64_t time_ns)
{
	while (t->n_buckets < bucket_at(t, time_ns)) {
		if (!end_bucket(t))
			return false;
		while (t->n_changes > MAX_CHANGES && t->n_buckets > 8 && t->n_buckets % 2 == 0)
			if (!merge_pairs(t))
				return false;
	}
	return true;
}

/* ---- The observer ---- */

/* Accounts for `n` records of a token. */
static inline bool add_records(struct timeline *t, const struct mst_chunk *chunk,
			       const struct mst_token *token, uint32_t n)
{
	const struct mst_kind *kind = &t->kinds[token->kind];
	if (token->role >= MST_CALL || kind->op == MST_OP_UNKNOWN)
		return true;
	const bool comes = token->role == MST_ALLOC;
	const uint64_t count = comes ? n : -(uint64_t)n;
	const uint64_t shares = count * weight_shares(t->mean, kind->size);
	const uint64_t bytes = count * weight_bytes(t->mean, kind->size, kind->size);
	t->now.bytes += bytes;
	t->now.blocks += shares;
	if (comes && !chunk->initial) {
		t->now.allocated += bytes;
		t->now.calls += shares;
	}
	return add_pending(t, kind->stack, bytes);
}

/* Accounts for the records [from, to) one by one. */
static bool add_few(struct timeline *t, const struct mst_chunk *chunk, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (!add_records(t, chunk, &chunk->tokens[chunk->records[i]], 1))
			return false;
	}
	return true;
}

/* Accounts for all records by the counts of their tokens. */
static bool add_tokens(struct timeline *t, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		if (!add_records(t, chunk, &chunk->tokens[i], chunk->tokens[i].count))
			return false;
	}
	return true;
}

enum { ROW = 8 };

static inline bool is_zero(const uint32_t counts[ROW])
{
	uint32_t any = 0;
	for (uint32_t i = 0; i < ROW; i++)
		any |= counts[i];
	return any == 0;
}

/* Accounts for the records [from, to). */
static bool add_part(struct timeline *t, const struct mst_chunk *chunk, uint32_t from, uint32_t to)
{
	if (to - from < chunk->n_tokens / 4) /* a look at each token would cost more */
		return add_few(t, chunk, from, to);
	if (chunk->n_tokens == 0)
		return true;
	if (!array_reserve_zeroed(&t->counts, chunk->n_tokens - 1, &t->room_counts, sizeof(*t->counts)))
		return false;
	token_counts_add(chunk, from, to, t->counts);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const uint32_t n = t->counts[i];
		if (n == 0) {
			i += chunk->n_tokens - i > ROW && is_zero(&t->counts[i + 1]) ? ROW : 0;
			continue;
		}
		t->counts[i] = 0;
		if (!add_records(t, chunk, &chunk->tokens[i], n))
			return false;
	}
	return true;
}

static bool add_by_records(struct timeline *t, const struct mst_chunk *chunk)
{
	uint32_t from = 0;
	for (uint32_t i = 1; i < chunk->n_stamps; i++) {
		const uint64_t time_ns = chunk->stamps[i].time << t->time_shift;
		if (bucket_at(t, time_ns) <= t->n_buckets)
			continue;
		const uint32_t to = stamp_first_record(chunk, i);
		if (!add_part(t, chunk, from, to) || !move_to(t, time_ns))
			return false;
		from = to;
	}
	return add_part(t, chunk, from, chunk->n_records);
}

static bool begin_chunk(struct timeline *t, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	mst_reader_stacks(reader, &n);
	t->kinds = mst_reader_kinds(reader, &n);
	t->time_shift = mst_reader_time_shift(reader);
	t->mean = mst_reader_info(reader)->sample_bytes;
	mst_reader_stacks(reader, &n);
	return array_reserve_zeroed(&t->pending, n, &t->room_pending, sizeof(*t->pending)) &&
	       move_to(t, chunk->first_time << t->time_shift);
}

static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	const struct timeline *t = (const struct timeline *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	return chunk->initial ||
	       bucket_at(t, chunk->first_time << shift) == bucket_at(t, chunk->last_time << shift);
}

static int see_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct timeline *t = (struct timeline *)observer;
	return begin_chunk(t, reader, chunk) && add_tokens(t, chunk) ? 0 : MST_ERR_NOMEM;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct timeline *t = (struct timeline *)observer;
	if (sums_suffice(observer, reader, chunk))
		return see_sums(observer, reader, chunk);
	return begin_chunk(t, reader, chunk) && add_by_records(t, chunk) ? 0 : MST_ERR_NOMEM;
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct timeline *t = (struct timeline *)observer;
	(void)reader;
	if (!move_to(t, t->end_ns) || !end_bucket(t))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < t->n_buckets; i++) {
		t->points[i].blocks = weight_blocks(t->points[i].blocks);
		t->points[i].calls = weight_blocks(t->points[i].calls);
	}
	return 0;
}

struct timeline *timeline_create(uint64_t begin_ns, uint64_t end_ns)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.sums_suffice = sums_suffice,
		.sums = see_sums,
		.end = see_end,
	};
	struct timeline *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS & ~MST_TIMES,
	};
	t->begin_ns = begin_ns;
	t->end_ns = end_ns > begin_ns ? end_ns : begin_ns;
	t->span_ns = (t->end_ns - t->begin_ns) / TIMELINE_BUCKETS + 1;
	return t;
}

void timeline_destroy(struct timeline *t)
{
	if (!t)
		return;
	free(t->changes);
	free(t->pending);
	free(t->touched);
	free(t->counts);
	free(t);
}

struct observer *timeline_observer(struct timeline *t)
{
	return &t->observer;
}

/* ---- The result ---- */

const struct timeline_point *timeline_points(const struct timeline *t, uint32_t *n)
{
	*n = t->n_buckets;
	return t->points;
}

uint64_t timeline_begins_ns(const struct timeline *t, uint32_t bucket)
{
	return t->begin_ns + bucket * t->span_ns;
}

static uint32_t group_at(const struct timeline *t, size_t change, const uint32_t *group_of, uint32_t n_stacks)
{
	const uint32_t stack = t->changes[change].stack;
	return stack < n_stacks ? group_of[stack] : MST_NONE;
}

bool timeline_highest(const struct timeline *t, const uint32_t *group_of, uint32_t n_stacks,
		      uint32_t n_groups, int64_t *highest)
{
	uint64_t *levels = calloc(n_groups + (size_t)1, sizeof(*levels));
	size_t begin = 0;
	memset(highest, 0, n_groups * sizeof(*highest));
	for (uint32_t bucket = 0; levels && bucket < t->n_buckets; bucket++) {
		const size_t end = t->ends[bucket] > begin ? t->ends[bucket] : begin;
		for (size_t i = begin; i < end; i++) {
			const uint32_t group = group_at(t, i, group_of, n_stacks);
			if (group != MST_NONE)
				levels[group] += t->changes[i].bytes;
		}
		for (size_t i = begin; i < end; i++) {
			const uint32_t group = group_at(t, i, group_of, n_stacks);
			if (group != MST_NONE && timeline_level(levels[group]) > highest[group])
				highest[group] = timeline_level(levels[group]);
		}
		begin = end;
	}
	const bool fine = levels;
	free(levels);
	return fine;
}

/* Modulo 2^64, as the changes are. */
static void add(int64_t *to, uint64_t bytes)
{
	*to = (int64_t)((uint64_t)*to + bytes);
}

void timeline_follow(const struct timeline *t, const uint32_t *group_of, uint32_t n_stacks, uint32_t n_groups,
		     int64_t *series)
{
	const uint32_t n = t->n_buckets;
	size_t i = 0;
	memset(series, 0, (size_t)n_groups * n * sizeof(*series));
	for (uint32_t bucket = 0; bucket < n; bucket++) {
		for (; i < t->ends[bucket]; i++) {
			const uint32_t group = group_at(t, i, group_of, n_stacks);
			assert(group == MST_NONE || group < n_groups);
			if (group != MST_NONE)
				add(&series[(size_t)group * n + bucket], t->changes[i].bytes);
		}
	}
	for (uint32_t g = 0; g < n_groups; g++) {
		int64_t *of_group = series + (size_t)g * n;
		for (uint32_t bucket = 1; bucket < n; bucket++)
			add(&of_group[bucket], (uint64_t)of_group[bucket - 1]);
		for (uint32_t bucket = 0; bucket < n; bucket++)
			of_group[bucket] = timeline_level((uint64_t)of_group[bucket]);
	}
}
