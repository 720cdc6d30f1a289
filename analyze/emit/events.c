/* SPDX-License-Identifier: MIT */
/* The table of all calls. The other tables are in tables.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "mst_limits.h"
#include "sample_weight.h"

static const struct parquet_column event_columns[] = {
	{ "event", false },     { "time_ns", false },  { "tid", false },       { "type", true },
	{ "operation", true },  { "stack", false },    { "size", false },      { "block", false },
	{ "old_stack", false }, { "old_size", false }, { "old_block", false },
};
#define N_EVENT_COLUMNS (sizeof(event_columns) / sizeof(*event_columns))

/* ---- Events ---- */

struct events {
	struct observer observer;
	const struct emit_view *view;
	struct parquet_column columns[N_EVENT_COLUMNS + 4]; /* with those that only some traces have */
	struct table table;
	uint64_t n;
	uint32_t n_marks, n_ends; /* marks and ends of threads that have been written */
};

static void choose_columns(struct events *e)
{
	size_t n = N_EVENT_COLUMNS;
	memcpy(e->columns, event_columns, sizeof(event_columns));
	if (mst_reader_info(e->view->reader)->instructions)
		e->columns[n++] = (struct parquet_column){ "instructions", false };
	if (emit_sample_mean(e->view)) {
		e->columns[n++] = (struct parquet_column){ "estimated_bytes", false };
		e->columns[n++] = (struct parquet_column){ "old_estimated_bytes", false };
	}
	e->columns[n] = (struct parquet_column){ NULL, false };
}

static const char *operation_of(const struct mst_kind *kinds, const struct mst_event *event)
{
	return mst_op_name(event->kind == MST_NONE ? MST_OP_FREE : kinds[event->kind].op);
}

/* An initial state lists blocks allocated before the trace begins. */
static const char *type_of(const struct mst_kind *kinds, const struct mst_event *event, bool initial)
{
	switch (event->type) {
	case MST_EVENT_ALLOC:
		return initial ? "live" : "alloc";
	case MST_EVENT_FREE:
		return "free";
	case MST_EVENT_RESIZE:
		return "resize";
	case MST_EVENT_CALL:
		break;
	}
	return kinds[event->kind].op < MST_OP_IMPLIED_FREE ? "failed" : "mark";
}

static bool is_known(const struct mst_kind *kinds, uint32_t kind)
{
	return kind != MST_NONE && kinds[kind].op != MST_OP_UNKNOWN;
}

/* Writes the columns of a block: stack, size and index. */
static void write_block(struct table *table, const struct mst_kind *kinds, uint32_t kind, uint64_t index)
{
	const bool known = is_known(kinds, kind);
	if (known) {
		table_number(table, kinds[kind].stack);
		table_number(table, kinds[kind].size);
	} else {
		table_nothing(table);
		table_nothing(table);
	}
	if (known && index != UINT64_MAX)
		table_number(table, index);
	else
		table_nothing(table);
}

/* Writes what the blocks that one of a sample stands for have together. `gives`: there is a block. */
static void write_estimate(struct events *e, const struct mst_kind *kinds, uint32_t kind, bool gives)
{
	const uint64_t mean = emit_sample_mean(e->view);
	if (gives && is_known(kinds, kind))
		table_number(&e->table, weight_bytes(mean, kinds[kind].size, kinds[kind].size));
	else
		table_nothing(&e->table);
}

static void write_event(struct events *e, const struct mst_reader *reader, const struct mst_event *event,
			bool initial)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	table_number(&e->table, e->n++);
	table_number(&e->table, event->time << mst_reader_time_shift(reader));
	table_number(&e->table, event->thread < n ? threads[event->thread].tid : 0);
	table_text(&e->table, type_of(kinds, event, initial));
	table_text(&e->table, operation_of(kinds, event));
	write_block(&e->table, kinds, event->kind, event->index);
	write_block(&e->table, kinds, event->old_kind, event->old_index);
	if (mst_reader_info(reader)->instructions)
		table_number(&e->table, event->instructions);
	if (emit_sample_mean(e->view)) {
		write_estimate(e, kinds, event->kind,
			       event->type == MST_EVENT_ALLOC || event->type == MST_EVENT_RESIZE);
		write_estimate(e, kinds, event->old_kind, event->type != MST_EVENT_CALL);
	}
}

static void write_point(struct events *e, const struct mst_reader *reader, uint64_t time, uint32_t thread,
			const char *operation)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	table_number(&e->table, e->n++);
	table_number(&e->table, time << mst_reader_time_shift(reader));
	table_number(&e->table, thread < n ? threads[thread].tid : 0);
	table_text(&e->table, "mark");
	table_text(&e->table, operation);
	while (e->table.column)
		table_nothing(&e->table);
}

/* A row for each mark before a record: the name is part of the operation, as in --at=mark:NAME. And for each thread's end. */
static void write_points(struct events *e, const struct mst_reader *reader, uint64_t record)
{
	uint32_t n, n_ends;
	const struct mst_mark *marks = mst_reader_marks(reader, &n);
	const struct mst_thread_end *ends = mst_reader_thread_ends(reader, &n_ends);
	char operation[sizeof("mark:") + MST_MAX_MARK];
	for (; e->n_marks < n && marks[e->n_marks].record <= record; e->n_marks++) {
		const struct mst_mark *mark = &marks[e->n_marks];
		snprintf(operation, sizeof(operation), "mark:%s", mark->name);
		write_point(e, reader, mark->time, mark->thread, operation);
	}
	for (; e->n_ends < n_ends && ends[e->n_ends].record <= record; e->n_ends++)
		write_point(e, reader, ends[e->n_ends].time, ends[e->n_ends].thread, "thread_end");
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	for (;;) {
		const uint64_t record = chunk->first_record + cursor.record;
		if (!mst_cursor_next(&cursor, &event))
			break;
		write_points((struct events *)observer, reader, record);
		write_event((struct events *)observer, reader, &event, chunk->initial);
	}
	return 0;
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	write_points((struct events *)observer, reader, UINT64_MAX);
	table_end(&((struct events *)observer)->table);
	return 0;
}

static struct observer *create_events(struct out *out, const struct emit_view *view)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct events *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->observer.impl = &impl;
	e->observer.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_AGES;
	e->view = view;
	choose_columns(e);
	table_begin(&e->table, out, view->emitter->form, e->columns);
	return &e->observer;
}

static void destroy_events(struct observer *observer)
{
	if (observer)
		table_drop(&((struct events *)observer)->table);
	free(observer);
}

static const struct emit_pass pass = { create_events, destroy_events };

const struct emitter emit_csv = {
	.name = "csv",
	.suffix = ".csv",
	.help = "a table of all calls, as CSV",
	.source = EMIT_EVENTS,
	.form = TABLE_CSV,
	.pass = &pass,
};

const struct emitter emit_ndjson = {
	.name = "ndjson",
	.suffix = ".ndjson",
	.help = "the same tables with a JSON object a line: all calls",
	.source = EMIT_EVENTS,
	.form = TABLE_NDJSON,
	.pass = &pass,
};

const struct emitter emit_parquet = {
	.name = "parquet",
	.suffix = ".parquet",
	.help = "the same tables as Parquet files: all calls",
	.source = EMIT_EVENTS,
	.binary = true,
	.form = TABLE_PARQUET,
	.pass = &pass,
};
