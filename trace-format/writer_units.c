/* SPDX-License-Identifier: MIT */
/* The writer's units: every definition goes into the file before the first chunk that needs it. */
#include <assert.h>
#include <errno.h>

#include "mst_limits.h"
#include "mst_writer.h"
#include "recode.h"
#include "sums.h"
#include "wire.h"
#include "writer.h"

#define FORMAT_VERSION 1u
/* A chunk is a quarter of what was before it, within bounds; so the last one, which delays the end, is short, too. */
#define PART 4u

int writer_file_unit(struct mst_writer *w, const struct mst_file_info *info)
{
	struct bytes *text = &w->columns[0];
	const uint32_t argc = info->argc < MST_MAX_ARGS ? info->argc : MST_MAX_ARGS;

	if (info->sample_bytes &&
	    (info->sample_bytes < MST_SAMPLE_MIN || info->sample_bytes > MST_SAMPLE_MAX))
		return MST_ERR_LIMIT;
	bytes_u32(&w->fields, FORMAT_VERSION);
	bytes_u32(&w->fields, (info->sample_bytes ? FEATURE_SAMPLED : 0) |
				      (w->initial.exists ? FEATURE_INITIAL_STATE : 0));
	bytes_u32(&w->fields, WRITER_TIME_SHIFT);
	bytes_u32(&w->fields, info->machine);
	bytes_u32(&w->fields, info->page_size);
	bytes_u32(&w->fields, info->pid);
	bytes_u32(&w->fields, info->parent_pid);
	bytes_u32(&w->fields, argc);
	bytes_u64(&w->fields, info->start_ns);
	bytes_u64(&w->fields, w->features);
	bytes_u64(&w->fields, info->sample_bytes);
	bytes_u64(&w->fields, w->initial.exists ? w->initial.begin : 0);

	bytes_text(text, info->recorder);
	bytes_text(text, info->exe);
	bytes_text(text, info->cwd);
	for (uint32_t i = 0; i < argc; i++)
		bytes_text(text, info->argv[i]);
	assert(w->fields.failed || w->fields.size == FIELDS_FILE);
	return writer_unit(w, UNIT_FILE, UNIT_CRITICAL, 1, 0, 0);
}

static int write_stacks(struct mst_writer *w)
{
	defs_pack_stacks(&w->defs, &w->fields, w->columns);
	return writer_unit(w, UNIT_STACKS, UNIT_CRITICAL, COLUMN_STACK_FRAMES + 1, 0, 0);
}

static int write_kinds(struct mst_writer *w)
{
	defs_pack_kinds(&w->defs, &w->fields, w->columns);
	return writer_unit(w, UNIT_KINDS, UNIT_CRITICAL, COLUMN_USABLES + 1, 0, 0);
}

int writer_definitions(struct mst_writer *w)
{
	struct defs *d = &w->defs;
	int err = 0;

	if (d->modules.n > d->modules.written) {
		defs_pack_modules(d, &w->fields, &w->columns[0]);
		err = writer_unit(w, UNIT_MODULES, 0, 1, 0, 0);
	}
	if (!err && d->threads.n > d->threads.written) {
		defs_pack_threads(d, &w->fields, &w->columns[0]);
		err = writer_unit(w, UNIT_THREADS, 0, 1, 0, 0);
	}
	while (!err && d->scripts.n > d->scripts.written) {
		defs_pack_scripts(d, &w->fields, &w->columns[0]);
		err = writer_unit(w, UNIT_SCRIPTS, 0, 1, 0, 0);
	}
	if (!err && d->thread_names.n > d->thread_names.written) {
		defs_pack_thread_names(d, &w->fields, &w->columns[0]);
		assert(w->fields.failed || w->fields.size == FIELDS_THREAD_NAMES);
		err = writer_unit(w, UNIT_THREAD_NAMES, 0, 1, 0, 0);
	}
	if (!err && d->marks.n > d->marks.written) {
		defs_pack_marks(d, &w->fields, &w->columns[0]);
		assert(w->fields.failed || w->fields.size == FIELDS_MARKS);
		err = writer_unit(w, UNIT_MARKS, 0, 1, 0, 0);
	}
	if (!err && d->thread_ends.n > d->thread_ends.written) {
		defs_pack_thread_ends(d, &w->fields, &w->columns[0]);
		assert(w->fields.failed || w->fields.size == FIELDS_THREAD_ENDS);
		err = writer_unit(w, UNIT_THREAD_ENDS, 0, 1, 0, 0);
	}
	if (!err && (d->stacks.n > d->stacks.written || d->frames.n > d->frames.written))
		err = write_stacks(w);
	if (!err && d->kinds.n > d->kinds.written)
		err = write_kinds(w);
	return err;
}

static void swap_bytes(struct bytes *a, struct bytes *b)
{
	const struct bytes t = *a;

	*a = *b;
	*b = t;
}

/* Lets chunks grow with the trace: large ones take less room and time a record. */
static void grow_limit(struct mst_writer *w)
{
	const uint64_t part = w->totals.records / PART;

	if (part > w->limit)
		w->limit = part < w->chunk.capacity ? (uint32_t)part : w->chunk.capacity;
}

/* Events of a chunk that are markers, after chunk_sums(). The initial state has no events. */
static uint64_t count_markers(const struct chunk *chunk, const struct mst_kind *kinds)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < chunk->n_tokens && !chunk->initial; i++) {
		const struct mst_token *token = &chunk->tokens[i];

		if (token->role == MST_CALL && kinds[token->kind].op >= MST_OP_IMPLIED_FREE)
			n += token->count;
	}
	return n;
}

static int write_chunk(struct mst_writer *w)
{
	struct chunk *chunk = &w->chunk;
	struct mst_sums sums;
	int err;

	assert(chunk->n_records <= w->limit && w->limit <= chunk->capacity);
	assert(chunk->stamps.first_time <= chunk->stamps.last_time);
	assert(chunk->counts.first <= chunk->counts.last);
	err = chunk_sums(chunk, defs_kinds(&w->defs), &sums);

	if (err)
		return err;
	bytes_u64(&w->fields, w->totals.records);
	bytes_u64(&w->fields, w->totals.allocs);
	bytes_u64(&w->fields, chunk->stamps.first_time);
	bytes_u64(&w->fields, chunk->stamps.last_time);
	bytes_u32(&w->fields, chunk->n_records);
	bytes_u32(&w->fields, chunk->n_tokens);
	bytes_u32(&w->fields, 0); /* the check comes when the columns are compressed */
	bytes_u32(&w->fields, chunk->initial ? EVENTS_INITIAL_STATE : 0);
	sums_pack(&sums, &w->fields);
	bytes_u64(&w->fields, chunk->counts.first);
	bytes_u64(&w->fields, chunk->counts.last);
	assert(w->fields.failed || w->fields.size == FIELDS_EVENTS);
	if (w->features & FEATURE_TEMPORARY)
		bytes_u64(&w->fields, chunk->temporary);

	chunk_pack(chunk, &w->columns[COLUMN_RECORDS], &w->columns[COLUMN_TOKENS],
		   &w->columns[COLUMN_COUNTS]);
	swap_bytes(&w->columns[COLUMN_TIME], &chunk->columns.time);
	swap_bytes(&w->columns[COLUMN_THREAD], &chunk->columns.thread);
	swap_bytes(&w->columns[COLUMN_ORDINALS], &chunk->columns.ordinals);
	swap_bytes(&w->columns[COLUMN_INSTRUCTIONS], &chunk->columns.instructions);
	swap_bytes(&w->columns[COLUMN_ADDRESSES], &chunk->columns.addresses);
	swap_bytes(&w->columns[COLUMN_SP_CHANGES], &chunk->columns.sp_changes);
	if (w->recoded && w->columns[COLUMN_ORDINALS].size && (err = recode_ordinals(w)))
		return err;
	err = writer_unit(w, UNIT_EVENTS, UNIT_CRITICAL, UNIT_KNOWN_COLUMNS, chunk->n_records,
			  chunk->stamps.first_time);

	w->totals.events += sums.events + sums.null_frees;
	w->totals.written += err ? 0 : sums.events + sums.null_frees;
	assert(w->totals.written <= w->totals.events);
	w->totals.records += chunk->n_records;
	w->totals.allocs += chunk_allocs(chunk);
	if (!err) {
		w->totals.calls += sums.events + sums.null_frees - count_markers(chunk, defs_kinds(&w->defs));
		err = keyframes_add(&w->keyframes, chunk, defs_kinds(&w->defs), &sums);
	}
	chunk_reset(chunk);
	grow_limit(w);
	return err;
}

static int write_keyframe(struct mst_writer *w)
{
	const struct keyframe_place place = {
		.records = w->totals.records,
		.allocs = w->totals.allocs,
		.time = w->chunk.stamps.last_time,
		.instructions = w->chunk.counts.last,
		.kinds = w->defs.kinds.written,
	};
	int err;

	keyframes_pack(&w->keyframes, &place, &w->fields, w->columns);
	assert(w->fields.failed || w->fields.size == FIELDS_KEYFRAME);
	err = writer_unit(w, UNIT_KEYFRAME, 0, 2, 0, 0);
	if (!err)
		keyframes_paid(&w->keyframes, w->output.unit.size);
	return err;
}

int mst_writer_flush(struct mst_writer *w)
{
	w->due = 0;
	if (!w->error)
		w->error = writer_definitions(w);
	if (!w->error && !chunk_is_empty(&w->chunk))
		w->error = write_chunk(w);
	if (!w->error && keyframes_due(&w->keyframes))
		w->error = write_keyframe(w);
	if (!w->error)
		w->error = writer_memory_if_due(w);
	if (!w->error)
		w->error = name_packer_flush(w);
	return w->error;
}

int mst_writer_flush_all(struct mst_writer *w)
{
	mst_writer_flush(w);
	if (!w->error)
		w->error = writer_memory_unit(w);
	return w->error;
}

static int write_index(struct mst_writer *w)
{
	struct bytes *column = &w->columns[0];
	uint64_t time = 0;

	bytes_u32(&w->fields, w->output.n_units);
	for (uint32_t i = 0; i < w->output.n_units; i++) {
		const struct unit_entry *u = &w->output.units[i];

		bytes_u8(column, u->type);
		bytes_varint(column, u->size);
		if (u->type == UNIT_EVENTS) {
			bytes_varint(column, u->records);
			bytes_varint(column, u->time_first - time);
			time = u->time_first;
		}
	}
	return writer_unit(w, UNIT_INDEX, 0, 1, 0, 0);
}

/* `index`: offset of the INDEX unit, 0 if there is none. */
static int write_end(struct mst_writer *w, const struct mst_end *end, uint64_t index)
{
	bytes_u32(&w->fields, end->reason);
	bytes_u32(&w->fields, end->detail);
	bytes_u64(&w->fields, end->time_ns);
	bytes_u64(&w->fields, end->events);
	bytes_u64(&w->fields, end->lost);
	bytes_u64(&w->fields, end->unknown_frees);
	bytes_u64(&w->fields, end->implied_frees);
	bytes_u64(&w->fields, index);
	bytes_u32(&w->fields, 0); /* reserved */
	bytes_u32(&w->fields, UNIT_PREFIX + UNIT_FIXED + FIELDS_END + 4);
	assert(w->fields.failed || w->fields.size == FIELDS_END);
	return writer_unit(w, UNIT_END, UNIT_CRITICAL, 0, 0, 0);
}

/* Ends a trace whose last part could not be written, if there is room for END. */
static int end_cut_trace(struct mst_writer *w, struct mst_end *end)
{
	const int error_number = errno;

	w->output.wait_for_room = NULL;
	end->lost += end->events - w->totals.written;
	end->events = w->totals.written;
	if (w->output.n_units > 0)
		(void)write_end(w, end, 0);
	errno = error_number;
	return w->error;
}

int mst_writer_finish(struct mst_writer *w, struct mst_end *end)
{
	uint64_t index;
	int err = mst_writer_flush(w);

	if (!err)
		err = w->error = writer_memory_unit(w);
	if (err == MST_ERR_IO)
		return end_cut_trace(w, end);
	if (err)
		return err;
	index = w->output.bytes;
	err = write_index(w);
	if (err == MST_ERR_LIMIT)
		index = 0; /* more units than an index has room for */
	else if (err)
		return w->error = err;
	return w->error = write_end(w, end, index);
}
