/* SPDX-License-Identifier: MIT */
#include "fleet_table.h"

#include <errno.h>
#include <stdlib.h>

#include "fleet_run_row.h"
#include "fleet_sums.h"
#include "hex.h"

/* Bytes of the line of names, the run's own row and one for the rest of each part. */
enum { RESERVED = 12000, RESERVED_FOR_TREND = 64 };

/* Percent of what times and sizes leave, by part. */
static const unsigned shares[FLEET_PARTS] = {
	[FLEET_SITE] = 28, [FLEET_FUNCTION] = 20, [FLEET_FRAME] = 20, [FLEET_STACK] = 32
};

struct writer {
	struct fleet fleet;
	struct fleet_run_texts texts;
	struct callstack frames;
	struct stack_path path;
	struct out *counter;
	uint32_t *order[FLEET_PARTS];
	uint32_t n_kept[FLEET_PARTS];
	char build_id[2 * MST_BUILD_ID_MAX + 1]; /* of the present row */
};

/* ---- Rows of items ---- */

static void name_module(struct writer *w, struct fleet_row *row, uint32_t number)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(w->fleet.report->reader, &n);
	if (number >= n)
		return;
	hex_put(w->build_id, modules[number].build_id, modules[number].build_id_size);
	row->build_id = w->build_id;
	if (row->part == FLEET_FRAME)
		row->module = modules[number].path;
}

/* The innermost call of a frame: function, file and line. */
static bool name_frame(struct writer *w, struct fleet_row *row, const struct fleet_item *item)
{
	const struct report *r = w->fleet.report;
	uint32_t n, n_calls;
	const struct mst_frame *frames = mst_reader_frames(r->reader, &n);
	const uint32_t *calls = call_sites_of(r->calls, item->frame, &n_calls);
	if (!calls)
		return false;
	row->from = frames[item->frame].address;
	if (n_calls) {
		const struct call *call = call_sites_at(r->calls, calls[0]);
		row->name = call->function;
		row->file = call->file;
		row->line = call->line;
	}
	name_module(w, row, item->module);
	return true;
}

/* False: no memory. */
static bool make_row(struct writer *w, enum fleet_part part, const struct fleet_item *item,
		     struct fleet_row *row)
{
	*row = (struct fleet_row){ .part = part,
				   .key = item->key,
				   .function = item->function,
				   .name = item->name,
				   .module = item->label_module,
				   .verdict = item->verdict,
				   .growth = item->growth };
	fleet_figures_add(row->figures, item->figures);
	if (part == FLEET_FRAME)
		return name_frame(w, row, item);
	if (part == FLEET_STACK)
		return (row->path = fleet_stacks_path(&w->fleet, item->stack, &w->frames, &w->path));
	if (part == FLEET_SITE && item->call != MST_NONE) {
		const struct call *call = call_sites_at(w->fleet.report->calls, item->call);
		row->file = call->file;
		row->line = call->line;
	}
	name_module(w, row, item->module);
	return true;
}

/* Keeps as many items of a part as fit into `most` bytes. False: no memory. */
static bool choose(struct writer *w, enum fleet_part part, uint64_t most)
{
	struct fleet_items *items = &w->fleet.parts[part];
	uint64_t used = 0;
	w->order[part] = fleet_items_order(items, w->fleet.totals);
	for (uint32_t i = 0; w->order[part] && i < items->n; i++) {
		struct fleet_item *item = &items->items[w->order[part][i]];
		struct fleet_row row;
		if (!make_row(w, part, item, &row))
			return false;
		used += fleet_row_size(w->counter, &w->texts.run, &row) +
			(part == FLEET_SITE ? RESERVED_FOR_TREND : 0);
		if (used > most)
			break;
		item->kept = true;
		w->n_kept[part]++;
	}
	return w->order[part];
}

static uint64_t size_of(const struct writer *w, const struct fleet_row *rows, uint32_t n)
{
	uint64_t size = 0;
	for (uint32_t i = 0; i < n; i++)
		size += fleet_row_size(w->counter, &w->texts.run, &rows[i]);
	return size;
}

static bool choose_all(struct writer *w)
{
	const uint64_t used = RESERVED + size_of(w, w->fleet.sizes, w->fleet.n_sizes) +
			      size_of(w, w->fleet.times, w->fleet.n_times);
	const uint64_t rest = used < FLEET_MOST_BYTES ? FLEET_MOST_BYTES - used : 0;
	for (unsigned part = FLEET_SITE; part < FLEET_PARTS; part++) {
		if (!choose(w, part, rest * shares[part] / 100))
			return false;
	}
	return fleet_sums_follow(&w->fleet);
}

/* ---- Writing ---- */

static void write_rows(struct writer *w, struct table *table, const struct fleet_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fleet_row_write(table, &w->texts.run, &rows[i], NULL);
	w->texts.row.rows += n;
}

/* What no row of its own has. */
static void write_rest(struct writer *w, struct table *table, enum fleet_part part)
{
	const struct fleet_items *items = &w->fleet.parts[part];
	struct fleet_row row = { .part = part, .name = "[other]" };
	uint64_t kept = 0;
	if (part == FLEET_FUNCTION || part == FLEET_FRAME)
		fleet_sums_rest(&w->fleet, part, row.figures);
	for (uint32_t i = 0; i < items->n; i++) {
		if (items->items[i].kept)
			kept += items->items[i].figures[FLEET_BYTE_SECONDS];
		else if (part == FLEET_SITE || part == FLEET_STACK)
			fleet_figures_add(row.figures, items->items[i].figures);
	}
	const uint64_t all = w->fleet.totals[FLEET_BYTE_SECONDS];
	if (part == FLEET_SITE)
		row.figures[FLEET_BYTE_SECONDS] = all > kept ? all - kept : 0;
	if (w->n_kept[part] < items->n || row.figures[FLEET_BYTE_SECONDS])
		write_rows(w, table, &row, 1);
}

/* False: no memory. */
static bool write_part(struct writer *w, struct table *table, enum fleet_part part)
{
	for (uint32_t i = 0; i < w->n_kept[part]; i++) {
		struct fleet_row row;
		if (!make_row(w, part, &w->fleet.parts[part].items[w->order[part][i]], &row))
			return false;
		write_rows(w, table, &row, 1);
	}
	write_rest(w, table, part);
	return true;
}

/* The run's row comes last, and says how many there are: a part of a file is no run. */
static bool write_all(struct writer *w, struct table *table)
{
	struct fleet_row run = { .part = FLEET_RUN, .key = w->texts.run.key };
	write_rows(w, table, w->fleet.times, w->fleet.n_times);
	write_rows(w, table, w->fleet.sizes, w->fleet.n_sizes);
	for (unsigned part = FLEET_SITE; part < FLEET_PARTS; part++) {
		if (!write_part(w, table, part))
			return false;
	}
	fleet_figures_add(run.figures, w->fleet.totals);
	run.name = w->texts.run.service;
	w->texts.row.rows++;
	fleet_row_write(table, &w->texts.run, &run, &w->texts.row);
	return true;
}

static void finish(struct writer *w)
{
	for (unsigned part = 0; part < FLEET_PARTS; part++)
		free(w->order[part]);
	if (w->counter)
		out_finish(w->counter);
	free(w->path.text);
	callstack_finish(&w->frames);
	fleet_run_texts_finish(&w->texts);
	fleet_sums_finish(&w->fleet);
}

void fleet_table_write(struct out *out, enum table_form form, struct report *r,
		       const struct fleet_labels *labels)
{
	struct writer w = { .fleet = { .report = r }, .counter = out_create_counter() };
	struct table table;
	callstack_init(&w.frames, r->reader, r->symbolizer, r->settings);
	table_begin(&table, out, form, fleet_columns);
	const bool fine = w.counter && fleet_sums_make(&w.fleet) &&
			  fleet_run_texts_make(&w.texts, r, labels, w.fleet.totals) && choose_all(&w) &&
			  write_all(&w, &table);
	if (fine) {
		table_end(&table);
	} else {
		out_fail(out, ENOMEM);
		table_drop(&table);
	}
	finish(&w);
}
