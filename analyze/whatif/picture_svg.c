/* SPDX-License-Identifier: MIT */
/*
 * SVG: above, what is resident and what is live of it; below, the address space from low (at the bottom) to high, a column
 * for each moment. The colour of a cell is a mixture of those of its bytes; what isn't resident is white. Lines separate ranges that lie far apart.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "picture_rows.h"

enum {
	LEFT = 100,
	TOP = 50,
	WIDTH = 900,
	CURVE = 140,
	GAP = 30,
	MAP = 480,
	SHADES = 16, /* of each colour */
	APART = 256, /* groups between ranges: 16 MiB */
};

/* ---- Colours ---- */

static unsigned blend(const struct picture_row *m, unsigned live, unsigned hole, unsigned empty)
{
	static const double white = 0xff, grey = 0xc8; /* not resident; headers, rounding, unused */
	const double rest = (double)(m->resident - m->live - m->holes - m->empty);
	const double value =
		(white * (double)(m->room - m->resident) + (double)live * (double)m->live +
		 (double)hole * (double)m->holes + (double)empty * (double)m->empty + grey * rest) /
		(double)m->room;
	const unsigned shade = (unsigned)(value / 255 * (SHADES - 1) + .5);
	return (shade < SHADES ? shade : SHADES - 1) * 255 / (SHADES - 1);
}

/* Blue is live, orange a hole, and red an empty page: also apart for colour-blind eyes by their lightness. */
static uint32_t colour_of(const struct picture_row *m)
{
	if (m->room == 0 || m->resident == 0)
		return 0xffffff;
	return blend(m, 0x1f, 0xff, 0xa0) << 16 | blend(m, 0x66, 0xb0, 0x10) << 8 |
	       blend(m, 0xb4, 0x40, 0x30);
}

/* ---- The map ---- */

static double x_of(const struct picture *p, uint32_t column)
{
	return LEFT + (double)WIDTH * column / p->n_columns;
}

/* Rows of one colour are one rectangle. */
static void write_column(const struct picture *p, uint32_t number, const struct picture_groups *groups,
			 struct out *out)
{
	static const int top = TOP + CURVE + GAP;
	struct picture_row rows[PICTURE_ROWS];
	picture_rows_mix(p, &p->columns[number], groups, rows);
	const double left = x_of(p, number), width = x_of(p, number + 1) - left;
	for (unsigned row = 0, first = 0; row < PICTURE_ROWS; row++) {
		const uint32_t colour = colour_of(&rows[row]);
		/* Of few groups, some rows are none's: they belong to the row below. */
		if (row + 1 < PICTURE_ROWS &&
		    (rows[row + 1].room == 0 || colour_of(&rows[row + 1]) == colour)) {
			if (rows[row + 1].room == 0)
				rows[row + 1] = rows[row];
			continue;
		}
		if (colour != 0xffffff)
			out_printf(out, "<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='#%06x'/>\n",
				   left, top + MAP - (int)(row + 1) * MAP / PICTURE_ROWS, width + .2,
				   (int)(row + 1 - first) * MAP / PICTURE_ROWS, (unsigned)colour);
		first = row + 1;
	}
}

static void write_ranges(const struct picture_groups *groups, struct out *out)
{
	static const int bottom = TOP + CURVE + GAP + MAP;
	int last = bottom + 20;
	for (size_t i = 0; i < groups->n; i++) {
		if (i > 0 && groups->items[i] - groups->items[i - 1] < APART)
			continue;
		const int y = bottom - (int)picture_row_of(groups, i) * MAP / PICTURE_ROWS;
		out_printf(out, "<line x1='%d' y1='%d' x2='%d' y2='%d' class='g'/>\n", LEFT, y, LEFT + WIDTH,
			   y);
		if (last - y >= 12) {
			out_printf(out, "<text x='%d' y='%d' class='r'>%" PRIx64 "</text>\n", LEFT - 6, y,
				   groups->items[i] * PICTURE_GROUP_BYTES);
			last = y;
		}
	}
}

/* ---- Curves and words ---- */

static uint64_t highest(const struct picture *p)
{
	uint64_t most = 1;
	for (uint32_t i = 0; i < p->n_columns; i++) {
		most = p->columns[i].resident > most ? p->columns[i].resident : most;
		most = p->columns[i].moment.bytes > most ? p->columns[i].moment.bytes : most;
	}
	return most;
}

static void write_curve(const struct picture *p, bool live, struct out *out)
{
	const double most = (double)highest(p);
	out_printf(out, "<path class='%s' d='M%d %d", live ? "l" : "e", LEFT, TOP + CURVE);
	for (uint32_t i = 0; i < p->n_columns; i++) {
		const double bytes = (double)(live ? p->columns[i].moment.bytes : p->columns[i].resident);
		const double y = TOP + CURVE - bytes / most * CURVE;
		out_printf(out, "L%.1f %.1fL%.1f %.1f", x_of(p, i), y, x_of(p, i + 1), y);
	}
	out_printf(out, "L%d %dZ'/>\n", LEFT + WIDTH, TOP + CURVE);
}

static void write_escaped(struct out *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&'\"", *text) || (unsigned char)*text < ' ' || *text == 0x7f)
			out_printf(out, (unsigned char)*text < ' ' || *text == 0x7f ? "?" : "&#%u;",
				   (unsigned)(unsigned char)*text);
		else
			out_write(out, text, 1);
	}
}

static void write_legend(const struct picture *p, const char *title, struct out *out)
{
	static const struct {
		const char *colour, *text;
	} items[] = { { "#1f66b4", "live" },
		      { "#ffb040", "holes beside live blocks" },
		      { "#a01030", "pages without a live block" },
		      { "#c8c8c8", "headers, rounding, unused" } };
	char text[FIGURE_SIZE];
	out_printf(out, "<text x='%d' y='20' class='t'>", LEFT);
	write_escaped(out, title);
	out_text(out, "</text>\n");
	for (int i = 0; i < 4; i++)
		out_printf(
			out,
			"<rect x='%d' y='30' width='10' height='10' fill='%s'/><text x='%d' y='39'>%s</text>\n",
			LEFT + i * 200, items[i].colour, LEFT + i * 200 + 15, items[i].text);
	out_printf(out, "<text x='%d' y='%d' class='r'>%s</text>\n", LEFT - 6, TOP + 10,
		   figure_bytes(text, highest(p), false));
}

static void write_times(const struct picture *p, struct out *out)
{
	char text[FIGURE_SIZE];
	for (uint32_t i = 0; i < 5; i++) {
		const uint32_t column = i * (p->n_columns - 1) / 4;
		out_printf(out, "<text x='%.0f' y='%d'>%s</text>\n", x_of(p, column),
			   TOP + CURVE + GAP + MAP + 16, figure_time(text, p->columns[column].moment.ns));
	}
}

bool picture_write(const struct picture *picture, const char *title, struct out *out)
{
	struct picture_groups groups = { 0 };
	if (!picture_groups_collect(picture, &groups))
		return false;
	out_printf(
		out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
		"style='max-width:100%%;height:auto' shape-rendering='crispEdges' font-family='sans-serif' "
		"font-size='11'>\n<style>.g{stroke:#888;stroke-width:.5}.r{text-anchor:end}.t{font-size:14px}"
		".l{fill:#1f66b4}.e{fill:#a01030}</style>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
		LEFT + WIDTH + 60, TOP + CURVE + GAP + MAP + 30, LEFT + WIDTH + 60,
		TOP + CURVE + GAP + MAP + 30);
	write_legend(picture, title, out);
	if (picture->n_columns) {
		write_curve(picture, false, out);
		write_curve(picture, true, out);
		write_times(picture, out);
	}
	for (uint32_t i = 0; i < picture->n_columns && groups.n; i++)
		write_column(picture, i, &groups, out);
	if (groups.n)
		write_ranges(&groups, out);
	out_text(out, "</svg>\n");
	free(groups.items);
	return true;
}
