/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>

/* All columns from this one on lie beyond the graph's right edge and are treated alike. */
#define COLUMN_FAR (INT64_C(1) << 53)

/*
 * Column 0 is the vertical axis. Decreasing times may name columns beyond the last one: they are remembered
 * only as `extent`, the number of columns touched so far, because negative times count back from there.
 */
struct canvas {
	char *cells; /* [columns + 1][rows + 1] */
	struct graph_size size;
	int64_t extent;
};

/*
 * Where a bar stands. The two differ only off the graph, with huge, infinite or undefined times: the place
 * decides what lies between two bars, the index which cells the bar itself fills.
 */
struct column {
	double place;
	int64_t index;
};

struct bar {
	struct column column;
	unsigned height;
	char fill;
};

struct scale {
	struct number end;         /* the last snapshot's time, 1 if that is 0 */
	struct number peak;        /* the highest total, 1 if that is 0 */
	struct number *thresholds; /* [rows + 1]: the total needed to reach a row */
};

static bool canvas_init(struct canvas *canvas, struct graph_size size)
{
	size_t stride = size.rows + 1;

	canvas->cells = malloc((size.columns + 1) * stride);
	canvas->size = size;
	canvas->extent = (int64_t)size.columns + 1;
	if (!canvas->cells)
		return false;
	memset(canvas->cells, ' ', (size.columns + 1) * stride);
	memset(canvas->cells, '|', stride);
	canvas->cells[size.rows] = '^';
	for (size_t x = 0; x <= size.columns; x++)
		canvas->cells[x * stride] = '-';
	canvas->cells[0] = '+';
	canvas->cells[size.columns * stride] = '>';
	return true;
}

/* The column's cells, NULL if it isn't shown; `index` counts from the left. */
static char *canvas_column(const struct canvas *canvas, int64_t index)
{
	if (index > canvas->size.columns)
		return NULL;
	return canvas->cells + (size_t)index * (canvas->size.rows + 1);
}

/* Makes the column exist and counts a negative index from the left; false if that leaves the canvas. */
static bool canvas_reach(struct canvas *canvas, int64_t *index)
{
	if (*index < 0)
		return *index >= -canvas->extent && (*index += canvas->extent) >= 0;
	if (*index > COLUMN_FAR)
		*index = COLUMN_FAR;
	if (*index >= canvas->extent)
		canvas->extent = *index + 1;
	return true;
}

/* Fills one row's cells in the shown ones of the columns first..last, both counted from the left. */
static void canvas_fill_row(struct canvas *canvas, int64_t first, int64_t last, unsigned row, char fill)
{
	if (last > canvas->size.columns)
		last = canvas->size.columns;
	for (int64_t x = first; x <= last; x++)
		canvas_column(canvas, x)[row] = fill;
}

/* The row from the top of `bar` to the column before `next`. */
static void canvas_connect(struct canvas *canvas, const struct bar *bar, struct column next)
{
	double from = bar->column.place + 1;
	double to = (next.place < (double)COLUMN_FAR ? next.place : (double)COLUMN_FAR) - 1;
	int64_t first, last;

	if (bar->height == 0 || isnan(next.place) || !(from <= to))
		return;
	/* The bar itself was drawn, so no column right of it can leave the canvas. */
	first = (int64_t)from;
	last = (int64_t)to;
	if (first < 0) {
		int64_t end = last < 0 ? last : -1;

		canvas_fill_row(canvas, canvas->extent + first, canvas->extent + end, bar->height, bar->fill);
		first = 0;
	}
	canvas_fill_row(canvas, first, last, bar->height, bar->fill);
	if (last >= canvas->extent)
		canvas->extent = last + 1;
}

/* `#` hides `@` hides `:`. */
static bool fill_hides(char fill, char old)
{
	return fill == '#' || (old != '#' && (fill == '@' || old != '@'));
}

static bool canvas_draw(struct canvas *canvas, const struct bar *bar)
{
	int64_t index = bar->column.index;
	char *cells;

	if (bar->height == 0)
		return true;
	if (!canvas_reach(canvas, &index))
		return false;
	cells = canvas_column(canvas, index);
	for (unsigned row = 1; cells && row <= bar->height; row++)
		if (fill_hides(bar->fill, cells[row]))
			cells[row] = bar->fill;
	return true;
}

static void canvas_print(FILE *out, const struct canvas *canvas, const char *label, const char *unit)
{
	size_t stride = canvas->size.rows + 1;

	for (unsigned row = canvas->size.rows + 1; row-- > 0;) {
		fputs(row == canvas->size.rows ? label : row == 0 ? "   0 " : "     ", out);
		for (size_t x = 0; x <= canvas->size.columns; x++)
			putc(canvas->cells[x * stride + row], out);
		fprintf(out, "%s\n", row == 0 ? unit : "");
	}
}

static struct column column_from_number(struct number n)
{
	struct column column = { .place = number_real(n) };

	if (n.kind == NUMBER_INTEGER)
		column.index = (int64_t)(n.negative ? -n.magnitude : n.magnitude);
	else if (n.real > 0)
		column.index = -1;
	else
		column.index = isnan(n.real) ? 0 : INT64_MIN;
	return column;
}

static struct column scale_column(const struct scale *scale, struct number time, unsigned columns)
{
	struct number x = number_from_integer(columns);

	if (number_compare(time, scale->end) != NUMBER_EQUAL)
		x = number_add(number_truncate(number_multiply(number_divide(time, scale->end), x)),
			       number_from_integer(1));
	return column_from_number(x);
}

static unsigned scale_height(const struct scale *scale, struct number total, unsigned rows)
{
	unsigned height = 0;

	while (height < rows && number_at_least(total, scale->thresholds[height + 1]))
		height++;
	return height;
}

static struct number one_if_zero(struct number n)
{
	return number_is_zero(n) ? number_from_integer(1) : n;
}

static enum graph_problem scale_init(struct scale *scale, const struct profile *profile, unsigned rows)
{
	const struct number zero = number_from_integer(0);
	struct number row;

	if (profile->count == 0)
		return GRAPH_NO_SNAPSHOTS;
	scale->end = number_parse(profile->snapshots[profile->count - 1].time);
	if (!number_at_least(scale->end, zero) || isinf(number_real(scale->end)))
		return GRAPH_BAD_END;
	scale->end = one_if_zero(scale->end);
	scale->peak = zero;
	for (size_t i = 0; i < profile->count; i++)
		if (number_compare(profile->snapshots[i].total, scale->peak) == NUMBER_GREATER)
			scale->peak = profile->snapshots[i].total;
	scale->peak = one_if_zero(scale->peak);
	scale->thresholds = calloc(rows + 1, sizeof(*scale->thresholds));
	if (!scale->thresholds)
		return GRAPH_NO_MEMORY;
	row = number_divide(scale->peak, number_from_integer(rows));
	for (unsigned y = 1; y <= rows; y++)
		scale->thresholds[y] = number_multiply(number_from_integer(y), row);
	return GRAPH_OK;
}

static struct bar scale_bar(const struct scale *scale, const struct profile *profile, size_t i,
			    struct graph_size size)
{
	const struct snapshot *snapshot = &profile->snapshots[i];

	return (struct bar){
		.column = scale_column(scale, number_parse(snapshot->time), size.columns),
		.height = scale_height(scale, snapshot->total, size.rows),
		.fill = profile_is_peak(profile, i) ? '#'
			: snapshot->tree            ? '@'
						    : ':',
	};
}

static enum graph_problem canvas_draw_all(struct canvas *canvas, const struct scale *scale,
					  const struct profile *profile)
{
	struct bar last = { 0 };

	for (size_t i = 0; i < profile->count; i++) {
		struct bar bar = scale_bar(scale, profile, i, canvas->size);

		canvas_connect(canvas, &last, bar.column);
		if (!canvas_draw(canvas, &bar))
			return GRAPH_OUT_OF_RANGE;
		last = bar;
	}
	return GRAPH_OK;
}

static void graph_print_axes(FILE *out, const struct canvas *canvas, const struct unit *y,
			     const struct unit *x)
{
	int gap = canvas->size.columns > 5 ? (int)canvas->size.columns - 5 : 0;

	fprintf(out, "    %2s\n", y->name);
	canvas_print(out, canvas, y->label, x->name);
	fprintf(out, "     0%*s%5s\n", gap, "", x->label);
}

enum graph_problem graph_print(FILE *out, const struct profile *profile, struct graph_size size)
{
	struct canvas canvas = { 0 };
	struct scale scale = { 0 };
	struct unit x, y;
	enum graph_problem problem = scale_init(&scale, profile, size.rows);

	if (problem == GRAPH_OK && !canvas_init(&canvas, size))
		problem = GRAPH_NO_MEMORY;
	if (problem == GRAPH_OK)
		problem = canvas_draw_all(&canvas, &scale, profile);
	if (problem == GRAPH_OK && !unit_scale(&x, profile->time_unit, scale.end))
		problem = GRAPH_BAD_TIME_UNIT;
	if (problem == GRAPH_OK) {
		unit_scale_bytes(&y, scale.peak);
		graph_print_axes(out, &canvas, &y, &x);
	}
	free(canvas.cells);
	free(scale.thresholds);
	return problem;
}
