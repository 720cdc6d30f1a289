/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEFT 40 /* margins of the frame */
#define TOP 20
#define RIGHT 40
#define BOTTOM 20
#define BANDS 20 /* vertical stripes, every other one yellow */
#define TICKS 20

/* The scale of one of the vertical axes. */
struct scale {
	uint64_t most; /* at the top; 0: no curve */
	uint64_t unit;
	const char *suffix;
};

struct drawing {
	const struct graph *graph;
	struct canvas *canvas;
	const struct canvas_impl *to;
	int width, height;
	uint64_t across, up; /* pixels of the frame */
	uint64_t calls;
	uint64_t start, span; /* times; span is never 0 */
	struct scale heap, stack;
};

/* A curve's last point. */
struct pen {
	enum canvas_colour colour;
	const struct scale *scale;
	int y;
};

static struct scale scale_for(uint64_t most)
{
	if (most < 1024)
		return (struct scale){ most, 1, "" };
	if (most < 100 * (uint64_t)(1 << 20))
		return (struct scale){ most, 1024, "k" };
	return (struct scale){ most, 1 << 20, "M" };
}

/* Offset of a centred text; negative if the text is wider than the room. */
static int centred(int room, int text)
{
	int left = room - text;
	return left < 0 ? -((1 - left) / 2) : left / 2;
}

static int bottom_of(const struct drawing *d)
{
	return d->height - BOTTOM;
}

/* ---- The frame ---- */

static void small_text(const struct drawing *d, enum canvas_colour colour, int x, int y, const char *text)
{
	d->to->text(d->canvas, CANVAS_SMALL, colour, x, y, text);
}

/* Draws a figure right-aligned on the left of the frame, or on its right. */
static void draw_figure(const struct drawing *d, const struct scale *scale, uint64_t value, int y)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%" PRIu64 "%s", value / scale->unit, scale->suffix);
	if (scale == &d->heap)
		small_text(d, CANVAS_RED, LEFT - 1 - CANVAS_SMALL_WIDTH * length, y, text);
	else
		small_text(d, CANVAS_GREEN, d->width - RIGHT + 3, y, text);
}

static void draw_zeros(const struct drawing *d)
{
	char text[8];
	small_text(d, CANVAS_BLUE, LEFT - 2, d->height - 14, "0");
	snprintf(text, sizeof(text), "0%s", d->heap.suffix);
	small_text(d, CANVAS_RED, d->heap.unit == 1 ? 32 : 26, d->height - 26, text);
	snprintf(text, sizeof(text), "0%s", d->stack.suffix);
	small_text(d, CANVAS_GREEN, d->width - 37, d->height - 26, text);
}

static void draw_names(const struct drawing *d)
{
	static const struct {
		enum canvas_colour colour;
		int x; /* from the right edge, if negative */
		const char *text;
	} names[] = {
		{ CANVAS_RED, 1, "allocated" },
		{ CANVAS_RED, 11, "memory" },
		{ CANVAS_GREEN, -39, "used" },
		{ CANVAS_GREEN, -27, "stack" },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int x = names[i].x < 0 ? d->width + names[i].x : names[i].x;
		d->to->text_up(d->canvas, CANVAS_SMALL, names[i].colour, x, d->height / 2 - 10,
			       names[i].text);
	}
}

/* Pixels from the bottom to the quarter's line, which lies at a whole unit of the scale. */
static uint64_t quarter_height(const struct drawing *d, const struct scale *scale, unsigned quarter)
{
	if (scale->most == 0)
		return 0;
	return d->up * (scale->most / 4 * quarter / scale->unit) / (scale->most / scale->unit);
}

static void draw_dashes(const struct drawing *d, enum canvas_colour colour, uint64_t height)
{
	int y = bottom_of(d) - (int)height;
	d->to->dashes(d->canvas, colour, LEFT, y, d->width - RIGHT, y);
}

static void draw_quarter(const struct drawing *d, unsigned quarter)
{
	uint64_t heap = quarter_height(d, &d->heap, quarter);
	uint64_t stack = quarter_height(d, &d->stack, quarter);
	if (d->heap.most) {
		draw_dashes(d, CANVAS_RED, heap);
		draw_figure(d, &d->heap, d->heap.most / 4 * quarter, d->height - 26 - (int)heap);
	}
	if (stack != heap)
		draw_dashes(d, CANVAS_GREEN, stack);
	draw_figure(d, &d->stack, d->stack.most / 4 * quarter, d->height - 26 - (int)stack);
}

static void draw_frame(const struct drawing *d)
{
	const char *title = d->graph->title;
	d->to->outline(d->canvas, CANVAS_BLUE, LEFT, TOP, d->width - RIGHT, bottom_of(d));
	draw_zeros(d);
	if (title && *title)
		d->to->text(d->canvas, CANVAS_LARGE, CANVAS_GREEN,
			    centred(d->width, CANVAS_LARGE_WIDTH * (int)strlen(title)), 2, title);
	draw_names(d);
	draw_figure(d, &d->heap, d->heap.most, 14);
	draw_figure(d, &d->stack, d->stack.most, 14);
	for (unsigned quarter = 1; quarter <= 3; quarter++)
		draw_quarter(d, quarter);
	char calls[24];
	snprintf(calls, sizeof(calls), "%" PRIu64, d->calls);
	small_text(d, CANVAS_BLUE, d->width - 50, d->height - 14, calls);
}

/* ---- The axis below ---- */

static void draw_band(const struct drawing *d, int x0, int x1)
{
	d->to->fill(d->canvas, CANVAS_YELLOW, x0, d->height - 19, x1, d->height - 14);
}

static void draw_tick(const struct drawing *d, int x)
{
	d->to->line(d->canvas, CANVAS_BLUE, x, bottom_of(d), x, d->height - 15);
}

/* Calls from one tick to the next. */
static uint64_t tick_step(const struct drawing *d)
{
	return d->calls < TICKS ? 1 : d->calls / TICKS;
}

static int x_of_call(const struct drawing *d, uint64_t call)
{
	return LEFT + (int)(d->across * call / d->calls);
}

static int x_of_time(const struct drawing *d, uint64_t time)
{
	return LEFT + (int)(d->across * (time - d->start) / d->span);
}

static void draw_call_ticks(const struct drawing *d)
{
	for (uint64_t i = 0; i < d->calls; i += tick_step(d))
		draw_tick(d, x_of_call(d, i));
	draw_tick(d, d->width - RIGHT);
}

static void draw_time_bands(const struct drawing *d)
{
	for (unsigned i = 0; i < BANDS; i += 2)
		draw_band(d, LEFT + (int)(i * d->across / BANDS),
			  LEFT - 1 + (int)((i + 1) * d->across / BANDS));
}

/* Draws the axis' name. That of the time axis has memusagestat's tabs and blanks. */
static void draw_axis_name(const struct drawing *d)
{
	int room = d->width - LEFT - RIGHT, y = d->height - 12;
	if (d->graph->by_time)
		small_text(d, CANVAS_BLUE, LEFT + centred(room, 39 * CANVAS_SMALL_WIDTH), y,
			   "\t\t\t\t      # memory handling function calls / time");
	else
		small_text(d, CANVAS_BLUE, LEFT + centred(room, 32 * CANVAS_SMALL_WIDTH), y,
			   "# memory handling function calls");
}

/* ---- Curves ---- */

static void draw_piece(const struct drawing *d, struct pen *pen, uint64_t value, int x0, int x1)
{
	if (pen->scale->most == 0)
		return;
	int y = bottom_of(d) - (int)(d->up * value / pen->scale->most);
	d->to->curve(d->canvas, pen->colour, x0, pen->y, x1, y);
	pen->y = y;
}

static void draw_curves(const struct drawing *d, struct datafile *data)
{
	struct pen total = { CANVAS_BLACK, &d->heap, bottom_of(d) };
	struct pen heap = { CANVAS_RED, &d->heap, bottom_of(d) };
	struct pen stack = { CANVAS_GREEN, &d->stack, bottom_of(d) };
	struct datafile_record record;
	uint64_t before = d->start, tick = tick_step(d);
	int x = LEFT;
	for (uint64_t i = 1; i <= d->calls && datafile_next(data, &record); i++) {
		int to = d->graph->by_time ? x_of_time(d, record.time) : x_of_call(d, i);
		if (!d->graph->by_time && 100 * (before - d->start) / d->span % 10 < 5)
			draw_band(d, x, to - 1);
		if (d->graph->by_time && i == tick) {
			draw_tick(d, to);
			tick += tick_step(d);
		}
		if (d->graph->total)
			draw_piece(d, &total, record.heap + record.stack, x, to);
		draw_piece(d, &heap, record.heap, x, to);
		draw_piece(d, &stack, record.stack, x, to);
		before = record.time;
		x = to;
	}
}

void graph_draw(const struct graph *graph, struct canvas *canvas, struct datafile *data)
{
	const struct datafile_head *head = datafile_head(data);
	struct drawing d = {
		.graph = graph,
		.canvas = canvas,
		.to = canvas->impl,
		.width = (int)graph->width,
		.height = (int)graph->height,
		.across = graph->width - LEFT - RIGHT,
		.up = graph->height - TOP - BOTTOM,
		.calls = datafile_count(data),
		.start = head->start,
		.span = head->end > head->start ? head->end - head->start : 1,
		.heap = scale_for(graph->total ? head->peak_total : head->peak_heap),
		.stack = scale_for(graph->total ? head->peak_total : head->peak_stack),
	};
	datafile_rewind(data);
	draw_frame(&d);
	draw_axis_name(&d);
	if (graph->by_time)
		draw_time_bands(&d);
	draw_curves(&d, data);
	if (!graph->by_time)
		draw_call_ticks(&d);
}
