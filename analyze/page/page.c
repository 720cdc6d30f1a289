/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_formats.h"
#include "check.h"
#include "figures.h"
#include "json.h"
#include "page_file.h"
#include "parts.h"
#include "tree_choice.h"

enum {
	PAIRS_MOST = 400000,
	ROWS_MOST = 200,
	ROWS_OF_OVERVIEW = 10, /* the tree and other sections have the others */
	JSON_SHRINKS = 3,      /* at least to so small a part, so that small ones needn't be tried */
	ROWS_LEAST = 5,
};

/* ---- Before the replay ---- */

static void find_peak(struct page_outline *o, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	const uint64_t highest = o->live + (uint64_t)chunk->sums.max_bytes;
	/* The sums of a sampled trace are those of the blocks that were recorded. */
	if (!mst_reader_info(reader)->sample_bytes && (int64_t)highest > (int64_t)o->peak_bytes) {
		o->peak_bytes = highest;
		o->peak_record = chunk->first_record;
		o->has_peak = !chunk->initial;
	}
	o->live += (uint64_t)chunk->sums.net_bytes;
}

void page_outline_read(struct page_outline *o, struct mst_reader *reader)
{
	const struct mst_chunk *chunk;
	mst_reader_want(reader, 0);
	while (mst_reader_peek(reader, &chunk) > 0)
		find_peak(o, reader, chunk);
}

bool page_has_section(const struct report_section *section, const struct report_query *query)
{
	/* The tree says these of any range, or they are the overview again. */
	static const char *const others[] = { "peak", "growth", "brief" };
	if (strcmp(section->name, "spans") == 0)
		return query->span.text;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(section->name, others[i]) == 0)
			return false;
	}
	return true;
}

unsigned page_needs(const struct report_query *query)
{
	unsigned needs = NEEDS_TIMELINE | NEEDS_LIVES | NEEDS_HISTOGRAMS | NEEDS_THREADS;
	for (const struct report_section *const *s = report_sections; *s; s++)
		needs |= page_has_section(*s, query) ? (*s)->needs : 0;
	return needs;
}

/* ---- The report's answer ---- */

/* The page's sections with tables of `top` rows as JSON. NULL: no memory, or errno. */
static char *report_text(struct report *report, const struct page_query *page, uint64_t top, size_t *size)
{
	const struct report_query *query = report->query;
	struct answer *own = report->answer;
	struct report_query with_top = *query;
	struct answer answer = { .filter = own->filter };
	char *text = NULL;
	with_top.top = top;
	report->query = &with_top;
	report->answer = &answer;
	for (const struct report_section *const *s = report_sections; *s; s++) {
		const bool few = s == report_sections && !query->top && top > ROWS_OF_OVERVIEW;
		with_top.top = few ? ROWS_OF_OVERVIEW : top;
		if (page_has_section(*s, query))
			report_write_section(report, *s);
	}
	with_top.top = top;
	if (page->player) {
		page->player->whatif->report = report;
		whatif_write(page->player->whatif);
	}
	errno = ENOMEM;
	if (!report->no_memory)
		text = page_answer(&answer, size);
	answer_finish(&answer);
	report->query = query;
	report->answer = own;
	return text;
}

/* Whether the columns fit into `room` bytes when they are deflated; true also without memory. */
static bool fits(const struct columns *columns, size_t room)
{
	size_t packed = 0;
	if (columns->n / JSON_SHRINKS <= room)
		return true;
	free(columns_deflate(columns, &packed));
	return packed <= room;
}

/* Adds the report to the data, with as many rows as fit into `room` bytes. */
static bool add_report(struct columns *columns, struct report *report, const struct page_query *query,
		       size_t room)
{
	uint64_t top = query->top ? query->top : ROWS_MOST;
	for (;; top /= 4) {
		size_t size;
		char *text = report_text(report, query, top, &size);
		if (!text)
			return false;
		columns_begin(columns, PART_REPORT);
		columns_bytes(columns, text, size);
		columns_end(columns);
		free(text);
		if (top / 4 < ROWS_LEAST || fits(columns, room))
			return !columns->failed;
		columns_finish(columns);
	}
}

/* ---- The data ---- */

static void finish(struct parts *p)
{
	columns_finish(&p->columns);
	texts_finish(&p->texts);
	page_nodes_finish(&p->nodes);
	cells_finish(&p->cells);
}

/* They take most of the memory, here and in the browser. Tests with MSREC_CHECK=1 reach the limit soon. */
static size_t most_cells(void)
{
	return check_wanted() ? 2000 : 400000;
}

/* Chooses at most *n nodes; fewer, if these had too many cells. False: no memory. */
static bool choose(struct parts *p, uint32_t *n)
{
	for (;;) {
		if (!page_nodes_choose(&p->nodes, p->tree, *n) ||
		    !cells_collect(&p->cells, p->flows, &p->buckets, p->nodes.of_stacks, p->nodes.n,
				   most_cells()))
			return false;
		if (p->cells.items)
			return true;
		*n = tree_choice_fewer(*n, p->cells.n, most_cells());
		page_nodes_finish(&p->nodes);
		cells_finish(&p->cells);
	}
}

static bool build(struct parts *p, const struct columns *report, const struct page_query *query,
		  size_t n_pairs)
{
	columns_bytes(&p->columns, "MSPG\1", 5);
	columns_bytes(&p->columns, report->bytes, report->n);
	if (!texts_init(&p->texts) || !part_tree(p) || !part_time(p) || !part_pairs(p, n_pairs) ||
	    !part_facts(p) || (query->sources && !part_sources(p)) ||
	    (query->player && !part_space(p, query->player->picture)))
		return false;
	texts_write(&p->texts, &p->columns, PART_TEXTS);
	return !p->columns.failed;
}

/* As many nodes as fit into `room` bytes. The deflated data, *size of it; NULL: no memory, or errno. */
static uint8_t *make_data(struct parts *p, const struct page_query *query, size_t room, size_t *size)
{
	struct columns report = { 0 };
	uint8_t *data = NULL;
	bool fine = add_report(&report, p->report, query, room / 3) &&
		    (p->tree = page_tree_create(p->report, p->flows));
	for (uint32_t n = NODES_MOST, pairs = PAIRS_MOST; fine;) {
		fine = choose(p, &n) && build(p, &report, query, pairs) &&
		       (data = columns_deflate(&p->columns, size));
		if (!fine || *size <= room || n <= NODES_LEAST)
			break;
		free(data);
		data = NULL;
		n = tree_choice_fewer(n, *size, room);
		pairs = pairs / 2;
		finish(p);
	}
	page_tree_destroy(p->tree);
	columns_finish(&report);
	return data;
}

/* ---- What stands before the data ---- */

struct meta {
	struct parts *parts;
	size_t data;
};

static void write_notes(struct out *out, const struct parts *p)
{
	const struct report *r = p->report;
	const char *comma = "";
	char shown[FIGURE_SIZE], all[FIGURE_SIZE];
	char limits[REPORT_LIMITS][REPORT_LIMIT_SIZE];
	const unsigned n_limits = report_limits(r, limits);
	char *filter = r->answer->filter
			       ? answer_show_filter(r->answer->filter, &(struct answer_style){ .utf8 = true })
			       : NULL;
	if (filter) {
		json_string(out, filter);
		comma = ",";
	}
	free(filter);
	for (unsigned i = 0; i < n_limits; i++) {
		out_text(out, comma);
		json_string(out, limits[i]);
		comma = ",";
	}
	if (!report_knows_lives(r)) {
		out_text(out, comma);
		json_string(
			out,
			"Which block each free gives back is not recorded (msrec --identity=yes), so what "
			"becomes of single blocks is not known.");
		comma = ",";
	}
	if (p->nodes.n_all > p->nodes.n)
		out_printf(out, "%s\"%s of %s nodes of the call tree are shown, the others in sums.\"", comma,
			   thousands(shown, p->nodes.n), thousands(all, p->nodes.n_all));
}

static void write_meta(struct out *out, void *data)
{
	const struct parts *p = ((const struct meta *)data)->parts;
	const struct report *r = p->report;
	const struct mst_file_info *info = mst_reader_info(r->reader);
	out_text(out, "{\"version\":1,\"trace\":");
	json_string(out, r->name);
	out_text(out, ",\"unit\":\"bytes\",\"page\":{\"command\":[");
	for (uint32_t i = 0; i < info->argc; i++) {
		out_text(out, i ? "," : "");
		json_string(out, info->argv[i]);
	}
	out_text(out, "],\"recorder\":");
	json_string(out, info->recorder ? info->recorder : "");
	out_printf(out,
		   ",\"pid\":%u,\"start_ns\":%llu,\"begin_ns\":%llu,\"end_ns\":%llu,\"block\":%llu,"
		   "\"sample_bytes\":%llu,\"partial\":%s,\"si\":%s,\"notes\":[",
		   (unsigned)info->pid, (unsigned long long)info->start_ns, (unsigned long long)r->begin_ns,
		   (unsigned long long)flows_end_ns(p->flows), (unsigned long long)flows_block(p->flows),
		   (unsigned long long)info->sample_bytes, r->partial ? "true" : "false",
		   r->query->si ? "true" : "false");
	write_notes(out, p);
	out_text(out, "]}}");
}

bool page_write(struct out *out, const char *template, struct report *report, struct flows *flows,
		const struct page_query *query)
{
	struct parts parts = { .report = report, .flows = flows };
	struct meta meta = { .parts = &parts };
	size_t n_data = 0;
	buckets_choose(&parts.buckets, flows);
	errno = ENOMEM;
	uint8_t *data = make_data(&parts, query, page_room(template), &n_data);
	const bool fine = data && page_fill(out, template, write_meta, &meta, data, n_data);
	const int error = errno;
	finish(&parts);
	free(data);
	errno = error;
	return fine;
}
