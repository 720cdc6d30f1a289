/* SPDX-License-Identifier: MIT */
#include "outline.h"

#include <stdlib.h>

#include "array.h"
#include "identity.h"
#include "mst_op.h"

static void come(struct outline *o, const struct mst_kind *kind)
{
	o->known++;
	o->slots = o->known > o->slots ? o->known : o->slots;
	if (mst_op_is_custom(kind->op)) {
		o->custom++;
		return;
	}
	o->allocations++;
	o->end_bytes += kind->size;
	o->end_blocks++;
	live_sizes_come(&o->sizes, kind->size);
}

static void go(struct outline *o, const struct mst_kind *kind, uint64_t index)
{
	if (index == UINT64_MAX)
		return;
	o->known -= o->known > 0;
	if (mst_op_is_custom(kind->op))
		return;
	o->end_bytes -= kind->size;
	o->end_blocks--;
	live_sizes_go(&o->sizes, kind->size);
}

static void see(struct outline *o, const struct mst_kind *kinds, const struct mst_event *e)
{
	if (e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE)
		go(o, &kinds[e->old_kind], e->old_index);
	if (e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE)
		come(o, &kinds[e->kind]);
}

/*
 * The thread whose id is the process's is the main one; it may make no call in a later part of a rotated trace. Where the
 * trace has no ids, it is the first that makes a call.
 */
static void note_thread(struct outline *o, const struct mst_reader *reader, uint32_t thread, uint64_t record)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	const uint64_t pid = mst_reader_info(reader)->pid;
	if (thread >= n)
		return;
	if (threads[thread].tid && (pid ? threads[thread].tid == pid : o->main == MST_NONE))
		o->main = thread;
	o->threads[thread] = (struct outline_thread){ .last = record, .called = true };
}

static int outline_chunk(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct outline *const o = (struct outline *)observer;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const unsigned shift = mst_reader_time_shift(reader);
	if (chunk_lacks_identity(chunk))
		return MST_ERR_IDENTITY;
	mst_reader_threads(reader, &n);
	if (n && !array_reserve_zeroed(&o->threads, n - 1, &o->room_threads, sizeof(*o->threads)))
		return MST_ERR_NOMEM;
	o->n_threads = n;
	while (!o->ended && mst_cursor_next(&cursor, &e)) {
		if (e.type == MST_EVENT_CALL && kinds[e.kind].op == MST_OP_EXIT && !chunk->initial) {
			o->ended = true;
			o->records = chunk->first_record + cursor.record - 1;
			o->end_ns = e.time << shift;
			return 0;
		}
		see(o, kinds, &e);
		if (e.type != MST_EVENT_CALL && !chunk->initial)
			note_thread(o, reader, e.thread, chunk->first_record + cursor.record - 1);
		if (e.type == MST_EVENT_FREE || o->end_bytes <= o->peak_bytes || o->end_bytes >> 63)
			continue;
		o->peak_bytes = o->end_bytes;
		o->peak_blocks = o->end_blocks;
		o->peak_record = chunk->first_record + cursor.record - 1;
		o->peak_ns = e.time << shift;
		live_sizes_mark(&o->sizes);
	}
	if (!o->ended) {
		o->records = chunk->first_record + chunk->n_records;
		o->end_ns = chunk->last_time << shift;
	}
	return 0;
}

static int outline_end(struct observer *observer, const struct mst_reader *reader)
{
	uint32_t n;
	mst_reader_thread_ends(reader, &n);
	((struct outline *)observer)->ends_recorded = n > 0;
	return 0;
}

static const struct observer_impl impl = { .chunk = outline_chunk, .end = outline_end };

void outline_init(struct outline *outline)
{
	*outline = (struct outline){
		.observer = { .impl = &impl, .spared = MST_INSTRUCTIONS | MST_ADDRESSES | MST_SP_CHANGES },
		.main = MST_NONE,
	};
}

void outline_finish(struct outline *outline)
{
	free(outline->threads);
	outline->threads = NULL;
}

uint32_t outline_threads(const struct outline *outline)
{
	uint32_t calling = 0;
	for (uint32_t i = 0; i < outline->n_threads; i++)
		calling += outline->threads[i].called;
	return calling;
}
