/* SPDX-License-Identifier: MIT */
/*
 * The trace as tables for SQL: events (every call), stacks (with what a profile shows), frames and
 * Massif's snapshots. Column names and the meaning of columns are those of msconvert(1) and don't
 * change; new columns come last.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "call_sites.h"
#include "emit.h"
#include "hex.h"
#include "table.h"

/* The last one only of traces with instruction counts. */
static const struct parquet_column counted_event_columns[] = {
	{ "event", false },     { "time_ns", false },  { "tid", false },       { "type", true },
	{ "operation", true },  { "stack", false },    { "size", false },      { "block", false },
	{ "old_stack", false }, { "old_size", false }, { "old_block", false }, { "instructions", false },
	{ NULL, false },
};
static const struct parquet_column event_columns[] = {
	{ "event", false },     { "time_ns", false },  { "tid", false },       { "type", true },
	{ "operation", true },  { "stack", false },    { "size", false },      { "block", false },
	{ "old_stack", false }, { "old_size", false }, { "old_block", false }, { NULL, false },
};
static const struct parquet_column stack_columns[] = {
	{ "stack", false },
	{ "parent", false },
	{ "frame", false },
	{ "depth", false },
	{ "inuse_objects", false },
	{ "inuse_bytes", false },
	{ "alloc_objects", false },
	{ "alloc_bytes", false },
	{ "end_objects", false },
	{ "end_bytes", false },
	{ NULL, false },
};
static const struct parquet_column frame_columns[] = {
	{ "frame", false }, { "call", false },    { "function", true }, { "file", true }, { "line", false },
	{ "module", true }, { "build_id", true }, { "address", true },  { NULL, false },
};
static const struct parquet_column snapshot_columns[] = {
	{ "snapshot", false },    { "time", false },        { "time_unit", true }, { "heap_bytes", false },
	{ "extra_bytes", false }, { "stack_bytes", false }, { "kind", true },      { NULL, false },
};

/* ---- Events --------------------------------------------------------------------------------- */

struct events {
	struct observer observer;
	const struct emit_view *view;
	struct table table;
	uint64_t n;
};

static const char *operation_of(const struct mst_kind *kinds, const struct mst_event *event)
{
	return mst_op_name(event->kind == MST_NONE ? MST_OP_FREE : kinds[event->kind].op);
}

/* In a base blocks come that were there before. */
static const char *type_of(const struct mst_kind *kinds, const struct mst_event *event, bool base)
{
	switch (event->type) {
	case MST_EVENT_ALLOC:
		return base ? "live" : "alloc";
	case MST_EVENT_FREE:
		return "free";
	case MST_EVENT_RESIZE:
		return "resize";
	case MST_EVENT_CALL:
		break;
	}
	return kinds[event->kind].op < MST_OP_IMPLIED_FREE ? "failed" : "mark";
}

/* Stack, size and number of a block. */
static void write_block(struct table *table, const struct mst_kind *kinds, uint32_t kind, uint64_t index)
{
	const bool known = kind != MST_NONE && kinds[kind].op != MST_OP_UNKNOWN;
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

static void write_event(struct events *e, const struct mst_reader *reader, const struct mst_event *event,
			bool base)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	table_number(&e->table, e->n++);
	table_number(&e->table, event->time << mst_reader_time_shift(reader));
	table_number(&e->table, event->thread < n ? threads[event->thread].tid : 0);
	table_text(&e->table, type_of(kinds, event, base));
	table_text(&e->table, operation_of(kinds, event));
	write_block(&e->table, kinds, event->kind, event->index);
	write_block(&e->table, kinds, event->old_kind, event->old_index);
	if (mst_reader_info(reader)->instructions)
		table_number(&e->table, event->instructions);
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	while (mst_cursor_next(&cursor, &event))
		write_event((struct events *)observer, reader, &event, chunk->base);
	return 0;
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	(void)reader;
	table_end(&((struct events *)observer)->table);
	return 0;
}

static struct observer *create_events(struct out *out, const struct emit_view *view, enum table_form form)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct events *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->observer.impl = &impl;
	e->observer.spared = MST_ADDRESSES | MST_SP_CHANGES;
	e->view = view;
	table_begin(&e->table, out, form,
		    mst_reader_info(view->reader)->instructions ? counted_event_columns : event_columns);
	return &e->observer;
}

static struct observer *create_csv(struct out *out, const struct emit_view *view)
{
	return create_events(out, view, TABLE_CSV);
}

static struct observer *create_ndjson(struct out *out, const struct emit_view *view)
{
	return create_events(out, view, TABLE_NDJSON);
}

static struct observer *create_parquet(struct out *out, const struct emit_view *view)
{
	return create_events(out, view, TABLE_PARQUET);
}

static void destroy_events(struct observer *observer)
{
	if (observer)
		table_drop(&((struct events *)observer)->table);
	free(observer);
}

/* ---- Stacks --------------------------------------------------------------------------------- */

/* What a stack has itself; samples are in the order of their stacks. */
static struct sample next_values(const struct profile_rows *samples, size_t *at, uint32_t stack)
{
	struct sample sum = { 0 };
	for (; *at < samples->n && samples->items[*at].stack == stack; ++*at) {
		const struct sample *s = &samples->items[*at];
		for (unsigned v = 0; v < PROFILE_VALUES; v++)
			sum.values[v] += s->values[v];
		sum.bytes_at_end += s->bytes_at_end;
		sum.objects_at_end += s->objects_at_end;
	}
	return sum;
}

static void write_stack(struct table *table, const struct mst_stack *stacks, uint32_t stack,
			const uint32_t *depths, const struct sample *s)
{
	table_number(table, stack);
	if (stack == MST_ROOT_STACK) {
		table_nothing(table);
		table_nothing(table);
	} else {
		table_number(table, stacks[stack].parent);
		table_number(table, stacks[stack].frame);
	}
	table_number(table, depths[stack]);
	table_number(table, s->values[PROFILE_INUSE_OBJECTS]);
	table_number(table, s->values[PROFILE_INUSE_BYTES]);
	table_number(table, s->values[PROFILE_ALLOC_OBJECTS]);
	table_number(table, s->values[PROFILE_ALLOC_BYTES]);
	table_number(table, s->objects_at_end);
	table_number(table, s->bytes_at_end);
}

static void write_stacks(struct out *out, const struct emit_view *view, enum table_form form)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(view->reader, &n);
	uint32_t *depths = calloc(n + (size_t)1, sizeof(*depths));
	struct profile_rows samples;
	struct table table;
	size_t at = 0;
	if (!profile_rows_collect(&samples, view->reader, view->profile, &view->query->filter, false) ||
	    !depths) {
		out_fail(out, ENOMEM);
		n = 0;
	}
	table_begin(&table, out, form, stack_columns);
	for (uint32_t i = 0; i < n; i++) {
		/* A stack's parent has a lower number. */
		depths[i] = i == MST_ROOT_STACK ? 0 : depths[stacks[i].parent] + 1;
		const struct sample sum = next_values(&samples, &at, i);
		write_stack(&table, stacks, i, depths, &sum);
	}
	table_end(&table);
	profile_rows_finish(&samples);
	free(depths);
}

static void write_stacks_csv(struct out *out, const struct emit_view *view)
{
	write_stacks(out, view, TABLE_CSV);
}

static void write_stacks_ndjson(struct out *out, const struct emit_view *view)
{
	write_stacks(out, view, TABLE_NDJSON);
}

static void write_stacks_parquet(struct out *out, const struct emit_view *view)
{
	write_stacks(out, view, TABLE_PARQUET);
}

/* ---- Frames --------------------------------------------------------------------------------- */

/* By the name that can be shown; NULL: there was no memory for it. */
static void write_module(struct table *table, const struct mst_module *module, const char *name)
{
	char build_id[2 * MST_BUILD_ID_MAX + 1];
	if (!module) {
		table_nothing(table);
		table_nothing(table);
		return;
	}
	hex_put(build_id, module->build_id, module->build_id_size);
	if (name)
		table_text(table, name);
	else
		table_nothing(table);
	if (*build_id)
		table_text(table, build_id);
	else
		table_nothing(table);
}

static void write_call(struct table *table, const struct call *call)
{
	if (call->named)
		table_text(table, call->function);
	else
		table_nothing(table);
	if (*call->file)
		table_text(table, call->file);
	else
		table_nothing(table);
	if (call->line > 0)
		table_number(table, (uint64_t)call->line);
	else
		table_nothing(table);
}

static void write_frames(struct out *out, const struct emit_view *view, enum table_form form)
{
	uint32_t n, n_modules, n_calls;
	const struct mst_frame *frames = mst_reader_frames(view->reader, &n);
	const struct mst_module *modules = mst_reader_modules(view->reader, &n_modules);
	struct call_sites *calls = call_sites_create(view->symbolizer);
	struct table table;
	table_begin(&table, out, form, frame_columns);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *numbers = calls ? call_sites_of(calls, i, &n_calls) : NULL;
		if (!numbers) {
			out_fail(out, ENOMEM);
			break;
		}
		for (uint32_t k = 0; k < n_calls; k++) {
			table_number(&table, i);
			table_number(&table, k);
			write_call(&table, call_sites_at(calls, numbers[k]));
			write_module(&table, frames[i].module == MST_NONE ? NULL : &modules[frames[i].module],
				     symbolize_object(view->symbolizer, i));
			table_hex(&table, frames[i].address);
		}
	}
	table_end(&table);
	call_sites_destroy(calls);
}

static void write_frames_csv(struct out *out, const struct emit_view *view)
{
	write_frames(out, view, TABLE_CSV);
}

static void write_frames_ndjson(struct out *out, const struct emit_view *view)
{
	write_frames(out, view, TABLE_NDJSON);
}

static void write_frames_parquet(struct out *out, const struct emit_view *view)
{
	write_frames(out, view, TABLE_PARQUET);
}

/* ---- Snapshots ------------------------------------------------------------------------------ */

static void write_snapshots(struct out *out, const struct emit_view *view, enum table_form form)
{
	size_t n;
	const struct snapshot *snapshots = massif_snapshots(view->massif, &n);
	struct table table;
	table_begin(&table, out, form, snapshot_columns);
	for (size_t i = 0; i < n; i++) {
		const struct snapshot *s = &snapshots[i];
		table_number(&table, i);
		table_number(&table, (uint64_t)s->time);
		table_text(&table, emit_time_unit(view->settings->time_unit));
		table_number(&table, s->heap);
		table_number(&table, s->extra);
		table_number(&table, s->stacks);
		table_text(&table, !s->live ? "plain" : s->kind == SNAPSHOT_PEAK ? "peak" : "detailed");
	}
	table_end(&table);
}

static void write_snapshots_csv(struct out *out, const struct emit_view *view)
{
	write_snapshots(out, view, TABLE_CSV);
}

static void write_snapshots_ndjson(struct out *out, const struct emit_view *view)
{
	write_snapshots(out, view, TABLE_NDJSON);
}

static void write_snapshots_parquet(struct out *out, const struct emit_view *view)
{
	write_snapshots(out, view, TABLE_PARQUET);
}

/* ---- The formats ---------------------------------------------------------------------------- */

static const struct emit_pass csv_pass = { create_csv, destroy_events };
static const struct emit_pass ndjson_pass = { create_ndjson, destroy_events };
static const struct emit_pass parquet_pass = { create_parquet, destroy_events };

const struct emitter emit_csv = {
	.name = "csv",
	.suffix = ".csv",
	.help = "a table of all calls, as CSV",
	.source = EMIT_EVENTS,
	.pass = &csv_pass,
};

const struct emitter emit_csv_stacks = {
	.name = "csv-stacks",
	.suffix = ".stacks.csv",
	.help = "a table of stacks with what they have in use and allocated",
	.source = EMIT_PROFILE,
	.write = write_stacks_csv,
};

const struct emitter emit_csv_frames = {
	.name = "csv-frames",
	.suffix = ".frames.csv",
	.help = "a table of frames and the calls that they stand for",
	.source = EMIT_PROFILE,
	.write = write_frames_csv,
};

const struct emitter emit_csv_snapshots = {
	.name = "csv-snapshots",
	.suffix = ".snapshots.csv",
	.help = "a table of Massif's snapshots",
	.source = EMIT_SNAPSHOTS,
	.write = write_snapshots_csv,
};

const struct emitter emit_ndjson = {
	.name = "ndjson",
	.suffix = ".ndjson",
	.help = "the same tables with a JSON object a line: all calls",
	.source = EMIT_EVENTS,
	.pass = &ndjson_pass,
};

const struct emitter emit_ndjson_stacks = {
	.name = "ndjson-stacks",
	.suffix = ".stacks.ndjson",
	.help = "stacks",
	.source = EMIT_PROFILE,
	.write = write_stacks_ndjson,
};

const struct emitter emit_ndjson_frames = {
	.name = "ndjson-frames",
	.suffix = ".frames.ndjson",
	.help = "frames",
	.source = EMIT_PROFILE,
	.write = write_frames_ndjson,
};

const struct emitter emit_ndjson_snapshots = {
	.name = "ndjson-snapshots",
	.suffix = ".snapshots.ndjson",
	.help = "snapshots",
	.source = EMIT_SNAPSHOTS,
	.write = write_snapshots_ndjson,
};

const struct emitter emit_parquet = {
	.name = "parquet",
	.suffix = ".parquet",
	.help = "the same tables as Parquet files: all calls",
	.source = EMIT_EVENTS,
	.binary = true,
	.pass = &parquet_pass,
};

const struct emitter emit_parquet_stacks = {
	.name = "parquet-stacks",
	.suffix = ".stacks.parquet",
	.help = "stacks",
	.source = EMIT_PROFILE,
	.binary = true,
	.write = write_stacks_parquet,
};

const struct emitter emit_parquet_frames = {
	.name = "parquet-frames",
	.suffix = ".frames.parquet",
	.help = "frames",
	.source = EMIT_PROFILE,
	.binary = true,
	.write = write_frames_parquet,
};

const struct emitter emit_parquet_snapshots = {
	.name = "parquet-snapshots",
	.suffix = ".snapshots.parquet",
	.help = "snapshots",
	.source = EMIT_SNAPSHOTS,
	.binary = true,
	.write = write_snapshots_parquet,
};
