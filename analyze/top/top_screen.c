/* SPDX-License-Identifier: MIT */
#include "top_screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "figures.h"
#include "printable.h"
#include "thread_count.h"

enum {
	TOP_LINES = 6,    /* before a table: four of figures, an empty one or the message, the header */
	BOTTOM_LINES = 1, /* the keys */
	WIDE = 110,       /* columns from which on tables have all figures */
};

/* ---- Lines ---- */

static struct cells new_cells(const struct top_screen *s)
{
	return (struct cells){ .most = s->columns, .utf8 = s->utf8 };
}

static bool has_room(const struct top_screen *s)
{
	return s->rows == 0 || s->n < s->rows;
}

/* Takes the cells' text. */
static void add_line(struct top_screen *s, struct cells *cells, enum top_style style)
{
	s->failed |= cells->failed;
	if (!has_room(s) || s->failed || !array_reserve(&s->lines, s->n, &s->room, sizeof(*s->lines))) {
		s->failed |= has_room(s);
		free(cells->text);
		return;
	}
	s->lines[s->n++] = (struct top_line){ cells->text, style };
}

static void add_text(struct top_screen *s, const char *text, enum top_style style)
{
	struct cells cells = new_cells(s);
	cells_add(&cells, text);
	add_line(s, &cells, style);
}

/* Untrusted text, escaped. */
static void add_foreign(struct cells *cells, const char *text)
{
	char *shown = printable_copy(text, strlen(text));
	cells->failed |= !shown;
	if (shown)
		cells_add(cells, shown);
	free(shown);
}

/* ---- The figures of the whole ---- */

const char *top_state_text(const struct top_sample *s, char text[40])
{
	switch (s->state) {
	case TOP_READING:
		return "being read";
	case TOP_RUNNING:
		return "running";
	case TOP_CUT:
		return "the end is missing";
	case TOP_DAMAGED:
		return "the trace is damaged";
	case TOP_ENDED:
		break;
	}
	switch ((enum mst_end_reason)s->end.reason) {
	case MST_END_EXIT:
		snprintf(text, 40, "exit %" PRIu32, s->end.detail);
		return text;
	case MST_END_SIGNAL:
		snprintf(text, 40, "killed by signal %" PRIu32, s->end.detail);
		return text;
	case MST_END_EXEC:
		return "executed another program";
	case MST_END_DETACHED:
		return "recording was stopped";
	case MST_END_UNKNOWN:
		break;
	}
	return "end unknown";
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void add_title(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_sample *sample = scene->sample;
	char text[40], time[FIGURE_SIZE], run[160];
	struct cells cells = new_cells(s);
	const uint32_t threads = thread_count(scene->reader);
	snprintf(run, sizeof(run), "   pid %" PRIu32 ", %s, %s, %" PRIu32 " thread%s%s",
		 mst_reader_info(scene->reader)->pid, figure_time(time, sample->now_ns - sample->begin_ns),
		 top_state_text(sample, text), threads, plural(threads),
		 scene->view->paused ? "  [paused]" : "");
	const unsigned n = (unsigned)strlen(run);
	if (s->columns)
		cells.most = s->columns > n ? s->columns - n : 1;
	add_foreign(&cells, scene->command);
	cells.most = s->columns;
	cells_add(&cells, run);
	add_line(s, &cells, TOP_TITLE);
}

static void add_live(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_row *t = &scene->sample->total;
	char bytes[FIGURE_SIZE], blocks[FIGURE_SIZE], peak[FIGURE_SIZE], at[FIGURE_SIZE];
	struct cells cells = new_cells(s);
	cells_printf(&cells, "live   %s in %s block%s", figure_bytes(bytes, t->live_bytes, false),
		     thousands(blocks, t->live_blocks), plural(t->live_blocks));
	cells_pad(&cells, 45);
	cells_printf(&cells, "peak  %s at %s", figure_bytes(peak, scene->sample->peak.bytes, false),
		     figure_time(at, scene->sample->peak.time_ns));
	add_line(s, &cells, TOP_PLAIN);
}

static void add_calls(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_row *t = &scene->sample->total;
	char rate[FIGURE_SIZE], bytes[FIGURE_SIZE], calls[FIGURE_SIZE], all[FIGURE_SIZE];
	struct cells cells = new_cells(s);
	cells_printf(&cells, "calls  %s, %s/s", figure_rate(rate, t->calls_per_second, 1000000000),
		     figure_bytes(bytes, t->bytes_per_second, false));
	cells_pad(&cells, 45);
	cells_printf(&cells, "all   %s, %s", thousands(calls, t->calls), figure_bytes(all, t->bytes, false));
	add_line(s, &cells, TOP_PLAIN);
}

static void add_memory(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_sample *sample = scene->sample;
	char now[FIGURE_SIZE] = "not known", most[FIGURE_SIZE], grown[FIGURE_SIZE], span[FIGURE_SIZE];
	struct cells cells = new_cells(s);
	if (sample->resident)
		figure_bytes(now, sample->resident, false);
	cells_printf(&cells, "RSS    %s", now);
	if (sample->peak_resident)
		cells_printf(&cells, ", at most %s", figure_bytes(most, sample->peak_resident, false));
	cells_pad(&cells, 45);
	cells_printf(&cells, "grown %s in %s", figure_change(grown, sample->total.growth_bytes, false),
		     figure_time(span, sample->window_ns));
	add_line(s, &cells, TOP_PLAIN);
}

static void add_message(struct top_screen *s, const struct top_scene *scene)
{
	const uint64_t mean = mst_reader_info(scene->reader)->sample_bytes;
	struct cells cells = new_cells(s);
	if (scene->message)
		add_foreign(&cells, scene->message);
	else if (mean)
		cells_printf(&cells, "estimates: a sample of one block in %" PRIu64 " bytes", mean);
	add_line(s, &cells, TOP_MESSAGE);
}

/* ---- Tables ---- */

/* The column that rows are in order of. */
static const char *mark(const struct top_scene *scene, enum top_order order, const char *name, char text[16])
{
	snprintf(text, 16, "%s%s", scene->view->order == order ? "*" : "", name);
	return text;
}

static bool is_wide(const struct top_screen *s)
{
	return s->columns == 0 || s->columns >= WIDE;
}

static void add_heads(const struct top_screen *s, const struct top_scene *scene, struct cells *cells)
{
	char text[16];
	cells_right(cells, mark(scene, TOP_BY_LIVE, "live", text), 9);
	cells_right(cells, mark(scene, TOP_BY_GROWTH, "growth", text), 9);
	cells_right(cells, mark(scene, TOP_BY_CALLS_RATE, "calls/s", text), 8);
	cells_right(cells, mark(scene, TOP_BY_BYTES_RATE, "bytes/s", text), 9);
	cells_right(cells, mark(scene, TOP_BY_BLOCKS, "blocks", text), 9);
	if (is_wide(s))
		cells_right(cells, mark(scene, TOP_BY_CALLS, "calls", text), 13);
	cells_add(cells, " ");
}

static void add_figures(const struct top_screen *s, struct cells *cells, const struct top_row *r)
{
	char text[FIGURE_SIZE];
	cells_right(cells, figure_bytes(text, r->live_bytes, false), 9);
	cells_right(cells, r->growth_bytes ? figure_change(text, r->growth_bytes, false) : "-", 9);
	cells_right(cells, r->calls_per_second ? figure_rate(text, r->calls_per_second, 1000000000) : "-", 8);
	cells_right(cells, r->bytes_per_second ? figure_bytes(text, r->bytes_per_second, false) : "-", 9);
	cells_right(cells, thousands(text, r->live_blocks), 9);
	if (is_wide(s))
		cells_right(cells, thousands(text, r->calls), 13);
	cells_add(cells, " ");
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

enum { LEAST_FUNCTION = 12 }; /* columns: else its place is cut off */

/* A function's name, cut so that `behind` columns remain, if it is not cut too much. */
static void add_function(struct cells *cells, const char *name, unsigned behind)
{
	char *shown = printable_copy(name, strlen(name));
	struct cells whole = { .utf8 = cells->utf8 };
	const unsigned room = cells->most > cells->columns ? cells->most - cells->columns : 0;
	cells->failed |= !shown;
	if (shown)
		cells_add(&whole, shown);
	if (cells->most && whole.columns + behind > room && room >= behind + LEAST_FUNCTION) {
		cells_add_most(cells, shown, room - behind - 1);
		cells_add(cells, cells->utf8 ? "\xe2\x80\xa6" : "~");
	} else if (shown) {
		cells_add(cells, shown);
	}
	cells->failed |= whole.failed;
	free(whole.text);
	free(shown);
}

/* Function, file and line, or its module. */
static void add_call(struct cells *cells, const struct top_scene *scene, uint32_t number, uint32_t module)
{
	if (number == MST_NONE) {
		cells_add(cells, "[no stack]");
		return;
	}
	const struct call *call = call_sites_at(sites_calls(scene->sites), number);
	struct cells at = { .utf8 = cells->utf8 };
	cells_add(&at, "  ");
	add_foreign(&at, *call->file ? last_part(call->file) : sites_module(scene->sites, module));
	if (*call->file && call->line)
		cells_printf(&at, ":%d", call->line);
	add_function(cells, call->function, at.columns);
	cells->failed |= at.failed;
	if (!cells->failed)
		cells_add(cells, at.text);
	free(at.text);
}

static enum top_style row_style(const struct top_screen *s, const struct top_view *view, uint32_t row)
{
	return s->rows && row == view->selected ? TOP_SELECTED : TOP_PLAIN;
}

/* Rows that the screen shows: from view->first on. */
static uint32_t last_row(const struct top_screen *s, const struct top_view *view, uint32_t n)
{
	const unsigned rows = top_screen_rows(s->rows);
	return s->rows && n - view->first > rows ? view->first + rows : n;
}

static void add_sites(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_sample *sample = scene->sample;
	const struct top_view *view = scene->view;
	struct cells head = new_cells(s);
	add_heads(s, scene, &head);
	cells_add(&head, "function  at");
	add_line(s, &head, TOP_HEADER);
	const uint32_t n = last_row(s, view, sample->n_sites);
	for (uint32_t i = view->first; i < n; i++) {
		const struct top_site *site = &sample->sites[i];
		struct cells cells = new_cells(s);
		add_figures(s, &cells, &site->row);
		add_call(&cells, scene, site->call, site->module);
		add_line(s, &cells, row_style(s, view, i));
	}
}

static void add_threads(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_sample *sample = scene->sample;
	const struct top_view *view = scene->view;
	struct cells head = new_cells(s);
	add_heads(s, scene, &head);
	cells_add(&head, "thread");
	add_line(s, &head, TOP_HEADER);
	const uint32_t n = last_row(s, view, sample->n_threads);
	for (uint32_t i = view->first; i < n; i++) {
		const struct top_thread *thread = &sample->threads[i];
		struct cells cells = new_cells(s);
		add_figures(s, &cells, &thread->row);
		cells_printf(&cells, "%" PRIu32 " ", thread->tid);
		add_foreign(&cells, thread->name);
		add_line(s, &cells, row_style(s, view, i));
	}
}

/* ---- A stack ---- */

/* The calls of a frame, the innermost first; `*line` counts them. */
static void add_frame(struct top_screen *s, const struct top_scene *scene, uint32_t frame, uint32_t *line,
		      unsigned room)
{
	uint32_t n_frames, n;
	const struct mst_frame *frames = mst_reader_frames(scene->reader, &n_frames);
	const uint32_t *calls = call_sites_of(sites_calls(scene->sites), frame, &n);
	s->failed |= !calls;
	for (uint32_t i = 0; calls && i < n; i++, (*line)++) {
		const uint32_t first = scene->view->first_frame;
		if (*line < first || (s->rows && *line >= first + room))
			continue;
		struct cells cells = new_cells(s);
		cells_printf(&cells, "%4" PRIu32 "  ", *line);
		add_call(&cells, scene, calls[i], frames[frame].module);
		if (i + 1 < n)
			cells_add(&cells, "  (inlined)");
		add_line(s, &cells, TOP_PLAIN);
	}
}

static void add_stack(struct top_screen *s, const struct top_scene *scene)
{
	const struct top_view *view = scene->view;
	uint32_t n_stacks, line = 0;
	const struct mst_stack *stacks = mst_reader_stacks(scene->reader, &n_stacks);
	struct cells head = new_cells(s);
	if (view->n_stacks == 0) {
		add_text(s, "no stack", TOP_HEADER);
		return;
	}
	const struct top_stack *shown = &view->stacks[view->stack];
	char bytes[FIGURE_SIZE], blocks[FIGURE_SIZE];
	cells_printf(&head, "stack %" PRIx64, sites_id(scene->sites, shown->stack));
	cells_printf(&head, ", %" PRIu32 " of %" PRIu32 " of the site: %s live in %s block%s",
		     view->stack + 1, view->all_stacks, figure_bytes(bytes, shown->live_bytes, false),
		     thousands(blocks, shown->live_blocks), plural(shown->live_blocks));
	cells_pad(&head, s->columns);
	add_line(s, &head, TOP_HEADER);
	for (uint32_t stack = shown->stack; stack != MST_ROOT_STACK; stack = stacks[stack].parent)
		add_frame(s, scene, stacks[stack].frame, &line, top_screen_rows(s->rows));
}

/* ---- Help ---- */

static void add_help(struct top_screen *s)
{
	static const char *const lines[] = {
		"l  g  r  a    sort by live bytes, growth, calls a second, bytes a second",
		"b  c          sort by live blocks, calls so far",
		"s  t  Tab     sites; threads, which allocated the blocks",
		"Up Down       select a row; also k j, PgUp PgDn, Home End",
		"Enter         the whole stack of a site; Left Right: its other stacks",
		"p  Space      pause: the figures stay, the trace is read on",
		"w             write a report beside the trace (msreport --html)",
		"h  ?          this help; Esc goes back",
		"q             quit; the program and its recording go on",
		"",
		"growth        change of the live bytes in the time that 'grown' names",
		"calls/s       calls that gave a block, lately; bytes/s: their bytes",
	};
	add_text(s, "keys", TOP_HEADER);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		add_text(s, lines[i], TOP_PLAIN);
}

/* ---- The screen ---- */

unsigned top_screen_rows(unsigned rows)
{
	return rows > TOP_LINES + BOTTOM_LINES ? rows - TOP_LINES - BOTTOM_LINES : rows ? 1 : 0;
}

static void clear(struct top_screen *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->lines[i].text);
	s->n = 0;
	s->failed = false;
}

static void add_body(struct top_screen *s, const struct top_scene *scene)
{
	switch (scene->view->page) {
	case TOP_SITES:
		add_sites(s, scene);
		break;
	case TOP_THREADS:
		add_threads(s, scene);
		break;
	case TOP_STACK:
		add_stack(s, scene);
		break;
	case TOP_HELP:
		add_help(s);
		break;
	}
}

static const char *keys_of(enum top_page page)
{
	switch (page) {
	case TOP_STACK:
		return "q quit  h help  Esc back  Up Down scroll  Left Right other stacks";
	case TOP_HELP:
		return "q quit  Esc back";
	case TOP_SITES:
	case TOP_THREADS:
		break;
	}
	return "q quit  h help  l g r a b c sort  s t view  Enter stack  p pause  w report";
}

bool top_screen_build(struct top_screen *s, const struct top_scene *scene)
{
	clear(s);
	add_title(s, scene);
	add_live(s, scene);
	add_calls(s, scene);
	add_memory(s, scene);
	add_message(s, scene);
	add_body(s, scene);
	if (s->rows == 0)
		return !s->failed;
	while (s->n + BOTTOM_LINES < s->rows && !s->failed)
		add_text(s, "", TOP_PLAIN);
	if (s->n == s->rows && s->rows > 1)
		free(s->lines[--s->n].text);
	add_text(s, keys_of(scene->view->page), TOP_KEYS);
	return !s->failed;
}

void top_screen_finish(struct top_screen *s)
{
	clear(s);
	free(s->lines);
	*s = (struct top_screen){ 0 };
}
