/* SPDX-License-Identifier: MIT */
/*
 * The canvas of memusagestat's picture: a PNG file by libgd, or an SVG file. Coordinates are
 * pixels from the top left corner; both ends of a line and all edges of a rectangle belong to it.
 */
#ifndef ANALYZE_CANVAS_H
#define ANALYZE_CANVAS_H

#include "out.h"

enum canvas_colour {
	CANVAS_BACKGROUND,
	CANVAS_RED,
	CANVAS_GREEN,
	CANVAS_BLUE,
	CANVAS_YELLOW,
	CANVAS_BLACK,
	CANVAS_COLOURS
};

/* Fonts of a fixed width; its pixels are what the picture's geometry counts with. */
enum canvas_font { CANVAS_SMALL, CANVAS_LARGE };
#define CANVAS_SMALL_WIDTH 6
#define CANVAS_LARGE_WIDTH 8

struct canvas;

struct canvas_impl {
	void (*outline)(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1);
	void (*fill)(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1);
	void (*line)(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1);
	void (*dashes)(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1);
	/* Adds a piece to the curve of that colour; it begins where the last piece ended. */
	void (*curve)(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1);
	/* (x, y) is the top left of the text; of `text_up`, which runs upwards, its bottom left. */
	void (*text)(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x, int y,
		     const char *text);
	void (*text_up)(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x, int y,
			const char *text);
	/* Writes the rest and frees the canvas. */
	void (*finish)(struct canvas *canvas);
};

/* Embedded as the first member of each canvas's own struct. */
struct canvas {
	const struct canvas_impl *impl;
	struct out *out; /* the caller's; takes the file and its errors */
	int width, height;
};

/* Red, green, blue of a colour. */
extern const unsigned char canvas_rgb[CANVAS_COLOURS][3];

/* A canvas of 100 by 80 pixels or more. NULL when out of memory. */
struct canvas *canvas_svg(struct out *out, int width, int height);

/*
 * Loads the module that draws PNG (canvas_png.c); call it before making a PNG canvas. Returns NULL or the problem. It
 * is a module because libgd needs fifty libraries, which take longer to load than most traces take to read.
 */
const char *canvas_png_load(void);
struct canvas *canvas_png(struct out *out, int width, int height);

/* The program's functions that the module uses; the module exports one function. */
struct canvas_host {
	void (*write)(struct out *out, const void *data, size_t size);
	void (*fail)(struct out *out, int error);
	const unsigned char (*rgb)[3];
};

typedef struct canvas *canvas_maker(struct out *out, int width, int height, const struct canvas_host *host);
extern canvas_maker canvas_png_make;

#endif
