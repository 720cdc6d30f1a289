/* SPDX-License-Identifier: MIT */
#include "canvas.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A curve of millions of pieces becomes at most four points a pixel column: its first, highest, lowest and last point
 * there. While the curve stays at one height, `held` delays the point that ends the flat stretch.
 */
struct curve {
	FILE *path; /* the text so far */
	char *text;
	size_t size;
	bool begun;
	int column; /* of the present piece */
	int first, low, high, last;
	int end;  /* height of the last point in the text */
	int held; /* column that ends a flat stretch not in the text; -1: none */
};

struct svg {
	struct canvas canvas;
	struct curve curves[CANVAS_COLOURS];
	bool any_band; /* the last rectangle; a neighbour of the same colour extends it */
	enum canvas_colour band_colour;
	int band[4];
};

static struct svg *svg_of(struct canvas *canvas)
{
	return (struct svg *)canvas;
}

/* ---- Shapes ---- */

static const char *name_of(enum canvas_colour colour)
{
	static const char *const names[CANVAS_COLOURS] = { "bg", "r", "g", "b", "y", "k" };
	return names[colour];
}

static void flush_band(struct svg *svg)
{
	const int *b = svg->band;
	if (svg->any_band)
		out_printf(svg->canvas.out, "<rect class='%sf' x='%d' y='%d' width='%d' height='%d'/>\n",
			   name_of(svg->band_colour), b[0], b[1], b[2] - b[0] + 1, b[3] - b[1] + 1);
	svg->any_band = false;
}

static void outline(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	out_printf(canvas->out, "<rect class='%s' x='%d.5' y='%d.5' width='%d' height='%d'/>\n",
		   name_of(colour), x0, y0, x1 - x0, y1 - y0);
}

static void fill(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	struct svg *svg = svg_of(canvas);
	if (x1 < x0)
		x1 = x0;
	if (svg->any_band && svg->band_colour == colour && svg->band[1] == y0 && svg->band[3] == y1 &&
	    x0 >= svg->band[0] && x0 <= svg->band[2] + 1) {
		if (x1 > svg->band[2])
			svg->band[2] = x1;
		return;
	}
	flush_band(svg);
	svg->any_band = true;
	svg->band_colour = colour;
	memcpy(svg->band, (int[]){ x0, y0, x1, y1 }, sizeof(svg->band));
}

static void line_of_class(struct canvas *canvas, const char *class, enum canvas_colour colour, int x0, int y0,
			  int x1, int y1)
{
	out_printf(canvas->out, "<path class='%s%s' d='M%d.5 %d.5L%d.5 %d.5'/>\n", name_of(colour), class, x0,
		   y0, x1, y1);
}

static void line(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	line_of_class(canvas, "", colour, x0, y0, x1, y1);
}

static void dashes(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	line_of_class(canvas, " d", colour, x0, y0, x1, y1);
}

/* ---- Curves ---- */

static void add_point(struct curve *c, int y)
{
	if (y == c->end)
		return;
	fprintf(c->path, "V%d.5", y);
	c->end = y;
}

static void flush_column(struct curve *c)
{
	if (c->first == c->end && c->low == c->high) {
		c->held = c->column;
		return;
	}
	if (c->held >= 0)
		fprintf(c->path, "H%d.5", c->held);
	c->held = -1;
	fprintf(c->path, "L%d.5 %d.5", c->column, c->first);
	c->end = c->first;
	add_point(c, c->low);
	add_point(c, c->high);
	add_point(c, c->last);
}

static void curve(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	struct curve *c = &svg_of(canvas)->curves[colour];
	if (!c->path)
		return;
	if (!c->begun) {
		fprintf(c->path, "M%d.5 %d.5", x0, y0);
		*c = (struct curve){ c->path, c->text, c->size, true, x0, y0, y0, y0, y0, y0, -1 };
	}
	if (x1 != c->column) {
		flush_column(c);
		c->column = x1;
		c->first = c->low = c->high = y1;
	}
	c->last = y1;
	c->low = y1 < c->low ? y1 : c->low;
	c->high = y1 > c->high ? y1 : c->high;
}

/* Writes the path and frees it. False: no memory. */
static bool finish_curve(struct svg *svg, enum canvas_colour colour)
{
	struct curve *c = &svg->curves[colour];
	if (!c->path)
		return false;
	if (c->begun) {
		flush_column(c);
		if (c->held >= 0)
			fprintf(c->path, "H%d.5", c->held);
	}
	bool ok = fflush(c->path) == 0 && !ferror(c->path);
	fclose(c->path);
	if (ok && c->begun)
		out_printf(svg->canvas.out, "<path class='%s' d='", name_of(colour));
	if (ok && c->begun) {
		out_write(svg->canvas.out, c->text, c->size);
		out_text(svg->canvas.out, "'/>\n");
	}
	free(c->text);
	return ok;
}

/* ---- Text ---- */

/* Length of the UTF-8 character at `s` in bytes; 0: it is invalid or XML forbids it. */
static size_t character_size(const unsigned char *s)
{
	size_t n = *s < 0x80                 ? 1
		   : *s >= 0xC2 && *s < 0xE0 ? 2
		   : *s >= 0xE0 && *s < 0xF0 ? 3
		   : *s >= 0xF0 && *s < 0xF5 ? 4
					     : 0;
	uint32_t code = n > 1 ? *s & (0x7Fu >> n) : *s;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3F);
	}
	static const uint32_t least[] = { 0, 0x20, 0x80, 0x800, 0x10000 };
	bool allowed = code >= least[n] && code != 0x7F && (code & ~0x7FFu) != 0xD800 && code < 0x110000 &&
		       (code & ~1u) != 0xFFFE;
	return allowed ? n : 0;
}

/* Writes the text as XML and returns its length in characters. Question marks replace invalid bytes. */
static unsigned put_text(struct out *out, const char *text)
{
	unsigned n = 0;
	for (const unsigned char *s = (const unsigned char *)text; *s; n++) {
		size_t size = character_size(s);
		if (size == 0)
			out_text(out, "?");
		else if (strchr("<>&'\"", *s))
			out_printf(out, "&#%u;", *s);
		else
			out_write(out, s, size);
		s += size ? size : 1;
	}
	return n;
}

static unsigned count_characters(const char *text)
{
	unsigned n = 0;
	for (const unsigned char *s = (const unsigned char *)text; *s; n++) {
		size_t size = character_size(s);
		s += size ? size : 1;
	}
	return n;
}

static void put_element(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x, int y,
			const char *more, const char *text)
{
	unsigned width = font == CANVAS_LARGE ? CANVAS_LARGE_WIDTH : CANVAS_SMALL_WIDTH;
	if (*text == '\0')
		return;
	out_printf(canvas->out, "<text class='%sf %s' x='%d' y='%d' textLength='%u'%s>", name_of(colour),
		   font == CANVAS_LARGE ? "l" : "s", x, y, width * count_characters(text), more);
	put_text(canvas->out, text);
	out_text(canvas->out, "</text>\n");
}

/* Pixels from the top of a line to its base line. */
static int ascent_of(enum canvas_font font)
{
	return font == CANVAS_LARGE ? 12 : 10;
}

/* Omits leading blanks, which libgd would draw. */
static void draw_text(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x, int y,
		      const char *text)
{
	put_element(canvas, font, colour, x, y + ascent_of(font), "", text + strspn(text, " \t"));
}

static void draw_text_up(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x,
			 int y, const char *text)
{
	char turn[64];
	int base = x + ascent_of(font);
	snprintf(turn, sizeof(turn), " transform='rotate(-90 %d %d)'", base, y);
	put_element(canvas, font, colour, base, y, turn, text);
}

/* ---- Life ---- */

static void put_head(const struct svg *svg)
{
	struct out *out = svg->canvas.out;
	out_printf(out,
		   "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
		   "viewBox='0 0 %d %d'>\n<style>rect,path{fill:none}path{stroke-linecap:square}"
		   ".s{font:10px monospace}.l{font:13px monospace}.d{stroke-dasharray:4}",
		   svg->canvas.width, svg->canvas.height, svg->canvas.width, svg->canvas.height);
	for (enum canvas_colour i = 0; i < CANVAS_COLOURS; i++) {
		const unsigned char *rgb = canvas_rgb[i];
		out_printf(out, ".%s{stroke:#%02x%02x%02x}.%sf{fill:#%02x%02x%02x}", name_of(i), rgb[0],
			   rgb[1], rgb[2], name_of(i), rgb[0], rgb[1], rgb[2]);
	}
	out_printf(out, "</style>\n<rect class='bgf' width='%d' height='%d'/>\n", svg->canvas.width,
		   svg->canvas.height);
}

static void finish(struct canvas *canvas)
{
	struct svg *svg = svg_of(canvas);
	static const enum canvas_colour order[] = { CANVAS_BLACK, CANVAS_RED,    CANVAS_GREEN,
						    CANVAS_BLUE,  CANVAS_YELLOW, CANVAS_BACKGROUND };
	flush_band(svg);
	bool ok = true;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		ok = finish_curve(svg, order[i]) && ok;
	out_text(canvas->out, "</svg>\n");
	if (!ok)
		out_fail(canvas->out, ENOMEM);
	free(svg);
}

static const struct canvas_impl impl = {
	.outline = outline,
	.fill = fill,
	.line = line,
	.dashes = dashes,
	.curve = curve,
	.text = draw_text,
	.text_up = draw_text_up,
	.finish = finish,
};

const unsigned char canvas_rgb[CANVAS_COLOURS][3] = {
	[CANVAS_BACKGROUND] = { 224, 224, 224 }, [CANVAS_RED] = { 255, 0, 0 },
	[CANVAS_GREEN] = { 0, 130, 0 },          [CANVAS_BLUE] = { 0, 0, 255 },
	[CANVAS_YELLOW] = { 154, 205, 50 },      [CANVAS_BLACK] = { 0, 0, 0 },
};

struct canvas *canvas_svg(struct out *out, int width, int height)
{
	struct svg *svg = calloc(1, sizeof(*svg));
	if (!svg)
		return NULL;
	svg->canvas = (struct canvas){ &impl, out, width, height };
	for (unsigned i = 0; i < CANVAS_COLOURS; i++)
		svg->curves[i].path = open_memstream(&svg->curves[i].text, &svg->curves[i].size);
	put_head(svg);
	return &svg->canvas;
}
