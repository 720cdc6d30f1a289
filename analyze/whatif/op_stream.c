/* SPDX-License-Identifier: MIT */
#include "op_stream.h"

#include <stdlib.h>

#include "mst_op.h"

/* By operation of a block that comes. */
static const uint8_t codes[] = {
	[MST_OP_MALLOC] = PLAY_MALLOC,
	[MST_OP_CALLOC] = PLAY_CALLOC,
	[MST_OP_REALLOC] = PLAY_REALLOC,
	[MST_OP_MEMALIGN] = PLAY_MEMALIGN,
	[MST_OP_POSIX_MEMALIGN] = PLAY_POSIX_MEMALIGN,
	[MST_OP_ALIGNED_ALLOC] = PLAY_ALIGNED_ALLOC,
	[MST_OP_VALLOC] = PLAY_VALLOC,
	[MST_OP_PVALLOC] = PLAY_PVALLOC,
	[MST_OP_NEW] = PLAY_NEW,
	[MST_OP_NEW_ARRAY] = PLAY_NEW_ARRAY,
	[MST_OP_REALLOCARRAY] = PLAY_MALLOC,
};

static int put(struct op_stream *s, const struct player_op *op)
{
	return s->sink->put(s->sink, op);
}

static int put_simple(struct op_stream *s, enum player_code code, uint32_t slot, uint64_t size)
{
	const struct player_op op = { .code = (uint8_t)code, .slot = slot, .size = size };
	return put(s, &op);
}

/* ---- Blocks ---- */

/* The operation of a call that gives a block, other than by a realloc of one; alignments are sound. */
static struct player_op allocation(const struct mst_kind *kind, uint32_t slot)
{
	static const unsigned pointer_log2 = 3; /* the least that posix_memalign() takes */
	struct player_op op = { .slot = slot, .size = kind->size, .code = PLAY_MALLOC };
	if (kind->op < sizeof(codes) && codes[kind->op])
		op.code = codes[kind->op];
	if (kind->align_log2 < 32)
		op.align_log2 = kind->align_log2;
	if (op.code >= PLAY_MEMALIGN && op.code <= PLAY_ALIGNED_ALLOC && op.align_log2 < pointer_log2)
		op.align_log2 = pointer_log2;
	return op;
}

static uint8_t free_code(const struct mst_kind *kind)
{
	if (kind->op == MST_OP_NEW)
		return PLAY_DELETE;
	return kind->op == MST_OP_NEW_ARRAY ? PLAY_DELETE_ARRAY : PLAY_FREE;
}

static void count(struct op_stream *s, const struct mst_kind *kind, bool comes)
{
	if (mst_op_is_custom(kind->op))
		return;
	s->now.bytes += comes ? kind->size : -kind->size;
	s->now.blocks += comes ? 1 : UINT64_MAX;
}

/* A block came: 0 and its slot, or an error. */
static int give(struct op_stream *s, uint32_t kind, uint32_t *slot)
{
	*slot = block_numbers_give(&s->numbers);
	if (*slot >= s->outline->slots)
		return MST_ERR_DAMAGED;
	if (s->owners)
		s->owners[*slot] = kind;
	return 0;
}

static int put_allocation(struct op_stream *s, const struct mst_kind *kinds, uint32_t kind)
{
	uint32_t slot;
	const int error = give(s, kind, &slot);
	count(s, &kinds[kind], true);
	thread_ends_block(&s->ends, kind, true);
	if (error || mst_op_is_custom(kinds[kind].op))
		return error;
	const struct player_op op = allocation(&kinds[kind], slot);
	return put(s, &op);
}

static int put_free(struct op_stream *s, const struct mst_kind *kinds, uint32_t kind, uint32_t slot)
{
	const struct mst_kind *k = &kinds[kind];
	count(s, k, false);
	thread_ends_block(&s->ends, kind, false);
	if (s->owners)
		s->owners[slot] = MST_NONE;
	if (mst_op_is_custom(k->op))
		return 0;
	const struct player_op op = {
		.code = free_code(k),
		.align_log2 = k->op == MST_OP_NEW || k->op == MST_OP_NEW_ARRAY ? k->align_log2 : 0,
		.slot = slot,
		.owner = kind,
		.old = k->size,
	};
	return put(s, &op);
}

/* The new block gets the old one's slot, which is the one that was freed last. */
static int put_resize(struct op_stream *s, const struct mst_kind *kinds, const struct mst_event *e)
{
	const struct mst_kind *old = &kinds[e->old_kind], *kind = &kinds[e->kind];
	uint32_t before, slot;
	if (!block_numbers_take(&s->numbers, e->old_index, &before))
		return put_allocation(s, kinds, e->kind);
	if (mst_op_is_custom(old->op) || mst_op_is_custom(kind->op)) {
		const int error = put_free(s, kinds, e->old_kind, before);
		return error ? error : put_allocation(s, kinds, e->kind);
	}
	const int error = give(s, e->kind, &slot);
	count(s, old, false);
	count(s, kind, true);
	if (error)
		return error;
	const struct player_op op = {
		.code = PLAY_REALLOC,
		.slot = slot,
		.owner = e->old_kind,
		.size = kind->size,
		.old = old->size,
	};
	return put(s, &op);
}

static int put_event(struct op_stream *s, const struct mst_kind *kinds, const struct mst_event *e)
{
	uint32_t slot;
	switch (e->type) {
	case MST_EVENT_ALLOC:
		return put_allocation(s, kinds, e->kind);
	case MST_EVENT_FREE:
		return block_numbers_take(&s->numbers, e->old_index, &slot)
			       ? put_free(s, kinds, e->old_kind, slot)
			       : 0;
	case MST_EVENT_RESIZE:
		return put_resize(s, kinds, e);
	case MST_EVENT_CALL:
		break;
	}
	return 0;
}

/* ---- Threads, time, samples ---- */

/* The thread of the next call, before which others may have ended. */
static int put_thread(struct op_stream *s, uint32_t thread)
{
	const struct outline *o = s->outline;
	uint32_t ended;
	if (thread == o->main || thread >= o->n_threads || !o->threads[thread].called)
		thread = PLAYER_MAIN;
	if (thread == s->thread)
		return 0;
	/* A thread that is to end isn't the present one. */
	int error = put_simple(s, PLAY_THREAD, PLAYER_MAIN, 0);
	while (!error && (ended = thread_ends_before(&s->ends, thread)) != MST_NONE)
		error = put_simple(s, PLAY_THREAD_END, ended, 0);
	s->thread = thread;
	return error ? error : put_simple(s, PLAY_THREAD, thread, 0);
}

/* Threads that have ended before a record, as the trace says. A thread that makes a call later hasn't. */
static int put_ends(struct op_stream *s, const struct mst_reader *reader, uint64_t record)
{
	const struct outline *o = s->outline;
	uint32_t n;
	const struct mst_thread_end *ends = mst_reader_thread_ends(reader, &n);
	int error = 0;
	for (; s->n_ended < n && ends[s->n_ended].record <= record && !error; s->n_ended++) {
		const struct mst_thread_end *end = &ends[s->n_ended];
		const struct outline_thread *t = end->thread < o->n_threads ? &o->threads[end->thread] : NULL;
		if (!t || !t->called || t->last >= end->record || end->thread == o->main)
			continue;
		error = put_thread(s, o->main);
		if (!error)
			error = put_simple(s, PLAY_THREAD_END, end->thread, 0);
	}
	return error;
}

static int put_clock(struct op_stream *s, uint64_t ns)
{
	if (ns == s->now.ns)
		return 0;
	s->now.ns = ns;
	return put_simple(s, PLAY_CLOCK, 0, s->pace == 1 ? ns : (uint64_t)((double)ns / s->pace));
}

static int put_sample(struct op_stream *s, uint64_t record)
{
	s->now.record = record;
	if (s->n_moments == sizeof(s->moments) / sizeof(*s->moments))
		return 0;
	s->moments[s->n_moments] = s->now;
	const int error = put_simple(s, PLAY_SAMPLE, s->n_moments++, 0);
	const bool stops = s->stop_every && !s->stopped && s->n_moments % s->stop_every == 0;
	return error || !stops ? error : put_simple(s, PLAY_STOP, 0, 0);
}

/* Behind a record. */
static int put_samples(struct op_stream *s, uint64_t record)
{
	if (record >= s->next) {
		s->next = record + s->outline->records / OP_SAMPLES + 1;
		if (record != s->outline->peak_record)
			return put_sample(s, record);
	}
	if (record != s->outline->peak_record || s->peak != UINT32_MAX)
		return 0;
	s->peak = s->n_moments;
	return put_sample(s, record);
}

/* ---- The observer ---- */

/* The present thread has made its last call. */
static int put_last(struct op_stream *s)
{
	thread_ends_last(&s->ends, s->thread);
	const uint32_t ended = thread_ends_now(&s->ends);
	if (ended == MST_NONE)
		return 0;
	const int error = put_thread(s, s->outline->main);
	return error ? error : put_simple(s, PLAY_THREAD_END, ended, 0);
}

static int put_all_of(struct op_stream *s, const struct mst_reader *reader, const struct mst_event *e,
		      uint64_t record)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	int error = put_ends(s, reader, record);
	if (!error)
		error = put_clock(s, e->time << mst_reader_time_shift(reader));
	if (!error && e->type != MST_EVENT_CALL)
		error = put_thread(s, e->thread);
	if (!error)
		error = put_event(s, kinds, e);
	if (!error && s->thread != PLAYER_MAIN && s->outline->threads[s->thread].last == record)
		error = put_last(s);
	return error ? error : put_samples(s, record);
}

/* The last sample, and a stop that lasts until the players are told to go on. */
static int stop(struct op_stream *s)
{
	s->stopped = true;
	const int error = put_sample(s, s->now.record);
	return error ? error : put_simple(s, PLAY_STOP, 0, 0);
}

/* Behind the last call. Time goes on to the end of the program. */
static int end(struct op_stream *s, const struct mst_reader *reader)
{
	if (s->stopped)
		return 0;
	int error = put_ends(s, reader, s->outline->records);
	if (!error && s->outline->end_ns > s->now.ns)
		error = put_clock(s, s->outline->end_ns);
	if (s->stops && !error)
		return stop(s);
	s->stopped = true;
	if (!error)
		error = put_sample(s, s->outline->records);
	return error ? error : put_simple(s, PLAY_END, 0, 0);
}

static int stream_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct op_stream *const s = (struct op_stream *)observer;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	const unsigned shift = mst_reader_time_shift(reader);
	if (!block_numbers_begin(&s->numbers, chunk))
		return MST_ERR_NOMEM;
	while (!s->stopped && mst_cursor_next(&cursor, &e)) {
		const uint64_t record = chunk->first_record + cursor.record - 1;
		if (record >= s->outline->records)
			return end(s, reader);
		if (s->stops && (record >= s->before || e.time << shift > s->until_ns))
			return stop(s);
		const int error = put_all_of(s, reader, &e, record);
		if (error)
			return error;
	}
	return 0;
}

static bool is_stopped(const struct observer *observer)
{
	return ((const struct op_stream *)observer)->stopped;
}

static int stream_end(struct observer *observer, const struct mst_reader *reader)
{
	return end((struct op_stream *)observer, reader);
}

static const struct observer_impl impl = {
	.chunk = stream_chunk,
	.satisfied = is_stopped,
	.end = stream_end,
};

bool op_stream_init(struct op_stream *stream, const struct outline *outline,
		    const struct thread_vectors *vectors, struct op_sink *sink, bool owners)
{
	*stream = (struct op_stream){
		.observer = { .impl = &impl, .spared = MST_INSTRUCTIONS | MST_ADDRESSES | MST_SP_CHANGES },
		.outline = outline,
		.sink = sink,
		.next = outline->records / OP_SAMPLES,
		.before = UINT64_MAX,
		.until_ns = UINT64_MAX,
		.peak = UINT32_MAX,
		.thread = PLAYER_MAIN,
		.pace = 1,
	};
	if (!thread_ends_init(&stream->ends, vectors, outline->n_threads))
		return false;
	if (!owners)
		return true;
	stream->owners = malloc((outline->slots + (size_t)1) * sizeof(*stream->owners));
	for (uint32_t i = 0; stream->owners && i < outline->slots; i++)
		stream->owners[i] = MST_NONE;
	return stream->owners;
}

void op_stream_finish(struct op_stream *stream)
{
	block_numbers_finish(&stream->numbers);
	thread_ends_finish(&stream->ends);
	free(stream->owners);
	stream->owners = NULL;
}
