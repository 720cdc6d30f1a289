/* SPDX-License-Identifier: MIT */
/*
 * The trace as tables for SQL: stacks (with a profile's values), frames and Massif's snapshots; events.c has the table
 * of calls. msconvert(1) documents all columns. Columns keep their names and places; a new one comes last.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "call_sites.h"
#include "callstack.h"
#include "emit.h"
#include "hex.h"
#include "stack_path.h"
#include "typed_blocks.h"

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
	{ "function", true },
	{ "path", true },
	{ "type", true },
	{ "container", true },
	{ "type_size", false },
	{ "type_trust", true },
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
static const struct parquet_column thread_columns[] = {
	{ "tid", false },
	{ "time_ns", false },
	{ "name", true },
	{ NULL, false },
};
static const struct parquet_column memory_columns[] = {
	{ "time_ns", false },
	{ "resident_bytes", false },
	{ "proportional_bytes", false },
	{ "swapped_bytes", false },
	{ "minor_faults", false },
	{ "major_faults", false },
	{ NULL, false },
};

/* ---- Samples ---- */

#define MOST_COLUMNS 32u

/* A sample's figures are estimates, which one more column says: the mean distance of sample points. */
static void begin_table(struct table *table, struct out *out, const struct emit_view *view,
			const struct parquet_column *columns, struct parquet_column *all)
{
	unsigned n = 0;
	for (; columns[n].name; n++)
		all[n] = columns[n];
	assert(n + 2 <= MOST_COLUMNS);
	if (emit_sample_mean(view))
		all[n++] = (struct parquet_column){ "sample_bytes", false };
	all[n] = (struct parquet_column){ NULL, false };
	table_begin(table, out, view->emitter->form, all);
}

static void write_sample(struct table *table, const struct emit_view *view)
{
	if (emit_sample_mean(view))
		table_number(table, emit_sample_mean(view));
}

/* ---- Stacks ---- */

/* Returns the stack's own values and advances *at past its rows, which are in the order of stacks. */
static struct stack_row next_values(const struct profile_rows *rows, size_t *at, uint32_t stack)
{
	struct stack_row sum = { 0 };
	for (; *at < rows->n && rows->items[*at].stack == stack; ++*at) {
		const struct stack_row *s = &rows->items[*at];
		for (unsigned v = 0; v < PROFILE_VALUES; v++)
			sum.values[v] += s->values[v];
		sum.bytes_at_end += s->bytes_at_end;
		sum.objects_at_end += s->objects_at_end;
	}
	return sum;
}

static void write_stack(struct table *table, const struct mst_stack *stacks, uint32_t stack,
			const uint32_t *depths, const struct stack_row *s)
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

/* Bytes of a path; real ones have some thousands. A longer one is left out. */
#define PATH_MOST ((size_t)1 << 20)

/* What the names and types of stacks come from. */
struct stack_names {
	struct callstack stack;
	struct call_sites *calls;
	struct stack_path path;
	struct sites *sites;
	struct typed_blocks types;
};

/* False: no memory; stack_names_finish() must still be called. */
static bool stack_names_begin(struct stack_names *names, const struct emit_view *view)
{
	static const struct sites_hidden hidden;
	*names = (struct stack_names){ .calls = call_sites_create(view->symbolizer) };
	callstack_init(&names->stack, view->reader, view->symbolizer, view->settings);
	if (names->calls)
		names->sites = sites_create(view->reader, names->calls, &hidden);
	return names->sites && typed_blocks_collect(&names->types, view->reader, view->profile, names->sites,
						    view->symbolizer);
}

static void stack_names_finish(struct stack_names *names)
{
	typed_blocks_finish(&names->types);
	sites_destroy(names->sites);
	callstack_finish(&names->stack);
	call_sites_destroy(names->calls);
	free(names->path.text);
}

/* Makes the path of a stack. The name of its innermost function; NULL: no memory. */
static const char *stack_names_load(struct stack_names *names, uint32_t stack)
{
	const char *function = NULL;
	names->path.n = 0;
	if (!names->calls || !callstack_load(&names->stack, stack))
		return NULL;
	for (uint32_t i = names->stack.n; i-- > 0;) {
		uint32_t n;
		const uint32_t *numbers = call_sites_of(names->calls, names->stack.frames[i], &n);
		while (numbers && n-- > 0) {
			function = call_sites_at(names->calls, numbers[n])->function;
			if (names->path.n <= PATH_MOST && !stack_path_append(&names->path, function))
				return NULL;
		}
		if (!numbers)
			return NULL;
	}
	return function;
}

static void write_stack_names(struct table *table, struct stack_names *names, uint32_t stack, struct out *out)
{
	const char *function = stack == MST_ROOT_STACK ? "" : stack_names_load(names, stack);
	const char *path = function && *function ? stack_path_text(&names->path) : NULL;
	if (!path && stack != MST_ROOT_STACK)
		out_fail(out, ENOMEM);
	if (path)
		table_text(table, function);
	else
		table_nothing(table);
	if (path && names->path.n <= PATH_MOST)
		table_text(table, path);
	else
		table_nothing(table);
}

static void write_known_text(struct table *table, const char *text)
{
	if (text)
		table_text(table, text);
	else
		table_nothing(table);
}

/* `type`: NULL: unknown. */
static void write_type(struct table *table, const struct alloc_type *type)
{
	write_known_text(table, type ? type->name : NULL);
	write_known_text(table, type ? type->container : NULL);
	if (type && type->size)
		table_number(table, type->size);
	else
		table_nothing(table);
	write_known_text(table, type ? type_trust_names[type->trust] : NULL);
}

static void write_stacks(struct out *out, const struct emit_view *view)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(view->reader, &n);
	uint32_t *depths = calloc(n + (size_t)1, sizeof(*depths));
	struct profile_rows rows = { 0 };
	struct parquet_column columns[MOST_COLUMNS];
	struct table table;
	struct stack_names names;
	size_t at = 0;
	if (!stack_names_begin(&names, view) ||
	    !profile_rows_collect(&rows, view->reader, view->profile, &view->query->filter, false) ||
	    !depths) {
		out_fail(out, ENOMEM);
		n = 0;
	}
	begin_table(&table, out, view, stack_columns, columns);
	for (uint32_t i = 0; i < n; i++) {
		/* A stack's parent has a lower number. */
		depths[i] = i == MST_ROOT_STACK ? 0 : depths[stacks[i].parent] + 1;
		const struct stack_row sum = next_values(&rows, &at, i);
		write_stack(&table, stacks, i, depths, &sum);
		write_stack_names(&table, &names, i, out);
		write_type(&table, typed_blocks_of(&names.types, i));
		write_sample(&table, view);
	}
	table_end(&table);
	stack_names_finish(&names);
	profile_rows_finish(&rows);
	free(depths);
}

/* ---- Frames ---- */

/* `name`: the module's printable name; NULL: no memory. */
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

static void write_frames(struct out *out, const struct emit_view *view)
{
	uint32_t n, n_modules, n_calls;
	const struct mst_frame *frames = mst_reader_frames(view->reader, &n);
	const struct mst_module *modules = mst_reader_modules(view->reader, &n_modules);
	struct call_sites *calls = call_sites_create(view->symbolizer);
	struct table table;
	table_begin(&table, out, view->emitter->form, frame_columns);
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

/* ---- Snapshots ---- */

static void write_snapshots(struct out *out, const struct emit_view *view)
{
	struct parquet_column columns[MOST_COLUMNS];
	struct table table;
	begin_table(&table, out, view, snapshot_columns, columns);
	for (size_t i = 0; i < view->n_snapshots; i++) {
		const struct snapshot *s = &view->snapshots[i];
		table_number(&table, i);
		table_number(&table, (uint64_t)s->time);
		table_text(&table, emit_time_unit(view->settings->time_unit));
		table_number(&table, s->heap);
		table_number(&table, s->extra);
		table_number(&table, s->stacks);
		table_text(&table, !s->live ? "plain" : s->kind == SNAPSHOT_PEAK ? "peak" : "detailed");
		write_sample(&table, view);
	}
	table_end(&table);
}

/* ---- Threads ---- */

/* A row for each name; a thread without a known one has a row, too. */
static void write_threads(struct out *out, const struct emit_view *view)
{
	const unsigned shift = mst_reader_time_shift(view->reader);
	uint32_t n, n_names;
	const struct mst_thread *threads = mst_reader_threads(view->reader, &n);
	const struct mst_thread_name *names = mst_reader_thread_names(view->reader, &n_names);
	struct table table;
	table_begin(&table, out, view->emitter->form, thread_columns);
	for (uint32_t i = 0; i < n; i++) {
		if (threads[i].name)
			continue;
		table_number(&table, threads[i].tid);
		table_nothing(&table);
		table_nothing(&table);
	}
	for (uint32_t i = 0; i < n_names; i++) {
		if (names[i].thread >= n)
			continue;
		table_number(&table, threads[names[i].thread].tid);
		table_number(&table, names[i].time << shift);
		table_text(&table, names[i].name);
	}
	table_end(&table);
}

/* ---- The process's memory ---- */

static void write_known(struct table *table, uint64_t value)
{
	if (value == UINT64_MAX)
		table_nothing(table);
	else
		table_number(table, value);
}

static void write_memory(struct out *out, const struct emit_view *view)
{
	const unsigned shift = mst_reader_time_shift(view->reader);
	uint32_t n;
	const struct mst_memory_sample *samples = mst_reader_memory(view->reader, &n);
	struct table table;
	table_begin(&table, out, view->emitter->form, memory_columns);
	for (uint32_t i = 0; i < n; i++) {
		const struct mst_memory_sample *s = &samples[i];
		table_number(&table, s->time << shift);
		table_number(&table, s->resident);
		write_known(&table, s->proportional);
		write_known(&table, s->swapped);
		write_known(&table, s->detailed ? s->minor_faults : UINT64_MAX);
		write_known(&table, s->detailed ? s->major_faults : UINT64_MAX);
	}
	table_end(&table);
}

/* ---- The formats ---- */

const struct emitter emit_csv_stacks = {
	.name = "csv-stacks",
	.suffix = ".stacks.csv",
	.help = "a table of stacks with what they have in use and allocated",
	.source = EMIT_PROFILE,
	.form = TABLE_CSV,
	.write = write_stacks,
};

const struct emitter emit_csv_frames = {
	.name = "csv-frames",
	.suffix = ".frames.csv",
	.help = "a table of frames and the calls that they stand for",
	.source = EMIT_PROFILE,
	.form = TABLE_CSV,
	.write = write_frames,
};

const struct emitter emit_csv_snapshots = {
	.name = "csv-snapshots",
	.suffix = ".snapshots.csv",
	.help = "a table of Massif's snapshots",
	.source = EMIT_SNAPSHOTS,
	.form = TABLE_CSV,
	.write = write_snapshots,
};

const struct emitter emit_csv_threads = {
	.name = "csv-threads",
	.suffix = ".threads.csv",
	.help = "a table of threads and the names that they had",
	.source = EMIT_PROFILE,
	.form = TABLE_CSV,
	.write = write_threads,
};

const struct emitter emit_csv_rss = {
	.name = "csv-rss",
	.suffix = ".rss.csv",
	.help = "a table of what memory the process had, by time",
	.source = EMIT_PROFILE,
	.form = TABLE_CSV,
	.write = write_memory,
};

const struct emitter emit_ndjson_stacks = {
	.name = "ndjson-stacks",
	.suffix = ".stacks.ndjson",
	.help = "stacks",
	.source = EMIT_PROFILE,
	.form = TABLE_NDJSON,
	.write = write_stacks,
};

const struct emitter emit_ndjson_frames = {
	.name = "ndjson-frames",
	.suffix = ".frames.ndjson",
	.help = "frames",
	.source = EMIT_PROFILE,
	.form = TABLE_NDJSON,
	.write = write_frames,
};

const struct emitter emit_ndjson_snapshots = {
	.name = "ndjson-snapshots",
	.suffix = ".snapshots.ndjson",
	.help = "snapshots",
	.source = EMIT_SNAPSHOTS,
	.form = TABLE_NDJSON,
	.write = write_snapshots,
};

const struct emitter emit_ndjson_threads = {
	.name = "ndjson-threads",
	.suffix = ".threads.ndjson",
	.help = "threads",
	.source = EMIT_PROFILE,
	.form = TABLE_NDJSON,
	.write = write_threads,
};

const struct emitter emit_ndjson_rss = {
	.name = "ndjson-rss",
	.suffix = ".rss.ndjson",
	.help = "what memory the process had, by time",
	.source = EMIT_PROFILE,
	.form = TABLE_NDJSON,
	.write = write_memory,
};

const struct emitter emit_parquet_stacks = {
	.name = "parquet-stacks",
	.suffix = ".stacks.parquet",
	.help = "stacks",
	.source = EMIT_PROFILE,
	.binary = true,
	.form = TABLE_PARQUET,
	.write = write_stacks,
};

const struct emitter emit_parquet_frames = {
	.name = "parquet-frames",
	.suffix = ".frames.parquet",
	.help = "frames",
	.source = EMIT_PROFILE,
	.binary = true,
	.form = TABLE_PARQUET,
	.write = write_frames,
};

const struct emitter emit_parquet_snapshots = {
	.name = "parquet-snapshots",
	.suffix = ".snapshots.parquet",
	.help = "snapshots",
	.source = EMIT_SNAPSHOTS,
	.binary = true,
	.form = TABLE_PARQUET,
	.write = write_snapshots,
};

const struct emitter emit_parquet_threads = {
	.name = "parquet-threads",
	.suffix = ".threads.parquet",
	.help = "threads",
	.source = EMIT_PROFILE,
	.binary = true,
	.form = TABLE_PARQUET,
	.write = write_threads,
};

const struct emitter emit_parquet_rss = {
	.name = "parquet-rss",
	.suffix = ".rss.parquet",
	.help = "what memory the process had, by time",
	.source = EMIT_PROFILE,
	.binary = true,
	.form = TABLE_PARQUET,
	.write = write_memory,
};
