/* SPDX-License-Identifier: MIT */
/* Changes of the present bucket are added up by thread in `pending`, and appended to a log when the bucket ends. */
#include "thread_changes.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "sample_weight.h"
#include "stamps.h"
#include "timeline.h"

struct change {
	uint32_t thread, bucket;
	uint64_t bytes; /* modulo 2^64 */
};

struct pending {
	uint64_t bytes;
	bool touched;
};

struct thread_changes {
	struct observer observer;
	uint64_t begin_ns, end_ns, span_ns;
	uint32_t bucket; /* the present one */
	struct change *log;
	size_t n_log, room_log;
	struct pending *pending; /* by thread */
	uint32_t room_pending;
	uint32_t *touched; /* threads with pending changes */
	uint32_t n_touched, room_touched;
	uint64_t *changes; /* by token of the present chunk: bytes of a record */
	uint32_t room_changes;
};

static uint32_t bucket_at(const struct thread_changes *t, uint64_t time_ns)
{
	const uint64_t within = time_ns > t->end_ns ? t->end_ns : time_ns;
	const uint64_t bucket = within <= t->begin_ns ? 0 : (within - t->begin_ns) / t->span_ns;
	return bucket < TIMELINE_BUCKETS ? (uint32_t)bucket : TIMELINE_BUCKETS - 1;
}

/* ---- The log ---- */

static bool end_bucket(struct thread_changes *t)
{
	for (uint32_t i = 0; i < t->n_touched; i++) {
		struct pending *p = &t->pending[t->touched[i]];
		if (!array_reserve(&t->log, t->n_log, &t->room_log, sizeof(*t->log)))
			return false;
		t->log[t->n_log++] = (struct change){ t->touched[i], t->bucket, p->bytes };
		*p = (struct pending){ 0 };
	}
	t->n_touched = 0;
	return true;
}

/* Times may go back within a bucket, and never to an earlier one. */
static bool move_to(struct thread_changes *t, uint64_t time_ns)
{
	const uint32_t bucket = bucket_at(t, time_ns);
	if (bucket <= t->bucket)
		return true;
	const bool fine = end_bucket(t);
	t->bucket = bucket;
	return fine;
}

static bool add(struct thread_changes *t, uint32_t thread, uint64_t bytes)
{
	struct pending *p = &t->pending[thread];
	assert(thread < t->room_pending);
	if (!p->touched && bytes) {
		if (!array_reserve(&t->touched, t->n_touched, &t->room_touched, sizeof(*t->touched)))
			return false;
		t->touched[t->n_touched++] = thread;
		p->touched = true;
	}
	p->bytes += bytes;
	return true;
}

/* ---- The observer ---- */

static bool begin_chunk(struct thread_changes *t, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	uint32_t n_threads, n;
	mst_reader_threads(reader, &n_threads);
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	if (!array_reserve_zeroed(&t->pending, n_threads, &t->room_pending, sizeof(*t->pending)) ||
	    !array_reserve(&t->changes, chunk->n_tokens, &t->room_changes, sizeof(*t->changes)))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_kind *kind = &kinds[chunk->tokens[i].kind];
		const unsigned role = chunk->tokens[i].role;
		const uint64_t bytes = weight_bytes(mean, kind->size, kind->size);
		const bool changes = role <= MST_OUT && kind->op != MST_OP_UNKNOWN;
		t->changes[i] = !changes ? 0 : role == MST_ALLOC ? bytes : -bytes;
	}
	return move_to(t, chunk->first_time << mst_reader_time_shift(reader));
}

/* While there is one thread, it makes all calls. */
static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	const struct thread_changes *t = (const struct thread_changes *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	uint32_t n;
	mst_reader_threads(reader, &n);
	return n <= 1 && bucket_at(t, chunk->first_time << shift) == bucket_at(t, chunk->last_time << shift);
}

static int see_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct thread_changes *t = (struct thread_changes *)observer;
	uint64_t bytes = 0;
	if (!begin_chunk(t, reader, chunk))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		bytes += chunk->tokens[i].count * t->changes[i];
	return add(t, 0, bytes) ? 0 : MST_ERR_NOMEM;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct thread_changes *t = (struct thread_changes *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	uint32_t stamp = 0, run = 0, thread = 0;
	if (!begin_chunk(t, reader, chunk))
		return MST_ERR_NOMEM;
	for (uint32_t r = 0; r < chunk->n_records;) {
		uint32_t end = chunk->n_records;
		uint64_t bytes = 0;
		for (; stamp < chunk->n_stamps && stamp_first_record(chunk, stamp) <= r; stamp++) {
			if (!move_to(t, chunk->stamps[stamp].time << shift))
				return MST_ERR_NOMEM;
		}
		while (run < chunk->n_runs && chunk->runs[run].record <= r)
			thread = chunk->runs[run++].thread;
		if (stamp < chunk->n_stamps && stamp_first_record(chunk, stamp) < end)
			end = stamp_first_record(chunk, stamp);
		if (run < chunk->n_runs && chunk->runs[run].record < end)
			end = chunk->runs[run].record;
		for (; r < end; r++)
			bytes += t->changes[chunk->records[r]];
		if (!add(t, thread, bytes))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	(void)reader;
	return end_bucket((struct thread_changes *)observer) ? 0 : MST_ERR_NOMEM;
}

struct thread_changes *thread_changes_create(uint64_t begin_ns, uint64_t end_ns)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.sums_suffice = sums_suffice,
		.sums = see_sums,
		.end = see_end,
	};
	struct thread_changes *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_IDENTITY | MST_INSTRUCTIONS,
	};
	t->begin_ns = begin_ns;
	t->end_ns = end_ns > begin_ns ? end_ns : begin_ns;
	t->span_ns = (t->end_ns - t->begin_ns) / TIMELINE_BUCKETS + 1;
	return t;
}

void thread_changes_destroy(struct thread_changes *t)
{
	if (!t)
		return;
	free(t->log);
	free(t->pending);
	free(t->touched);
	free(t->changes);
	free(t);
}

struct observer *thread_changes_observer(struct thread_changes *t)
{
	return &t->observer;
}

void thread_changes_add_up(const struct thread_changes *t, uint64_t from_ns, uint64_t until_ns,
			   uint64_t *sums, uint32_t n)
{
	for (size_t i = 0; i < t->n_log; i++) {
		const struct change *c = &t->log[i];
		const uint64_t begins = t->begin_ns + c->bucket * t->span_ns;
		if (begins >= from_ns && begins < until_ns && c->thread < n)
			sums[c->thread] += c->bytes;
	}
}
