/* SPDX-License-Identifier: MIT */
#include "canvas.h"

#include <errno.h>
#include <gd.h>
#include <gdfontl.h>
#include <gdfonts.h>
#include <stdlib.h>

struct png {
	struct canvas canvas;
	const struct canvas_host *host;
	gdImagePtr image;
	int colours[CANVAS_COLOURS];
};

static struct png *png_of(struct canvas *canvas)
{
	return (struct png *)canvas;
}

static void outline(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	struct png *png = png_of(canvas);
	gdImageRectangle(png->image, x0, y0, x1, y1, png->colours[colour]);
}

static void fill(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	struct png *png = png_of(canvas);
	gdImageFilledRectangle(png->image, x0, y0, x1, y1, png->colours[colour]);
}

static void line(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	struct png *png = png_of(canvas);
	gdImageLine(png->image, x0, y0, x1, y1, png->colours[colour]);
}

static void dashes(struct canvas *canvas, enum canvas_colour colour, int x0, int y0, int x1, int y1)
{
	struct png *png = png_of(canvas);
	gdImageDashedLine(png->image, x0, y0, x1, y1, png->colours[colour]);
}

static gdFontPtr font_of(enum canvas_font font)
{
	return font == CANVAS_LARGE ? gdFontGetLarge() : gdFontGetSmall();
}

static void draw_text(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x, int y,
		      const char *text)
{
	struct png *png = png_of(canvas);
	gdImageString(png->image, font_of(font), x, y, (unsigned char *)text, png->colours[colour]);
}

static void draw_text_up(struct canvas *canvas, enum canvas_font font, enum canvas_colour colour, int x,
			 int y, const char *text)
{
	struct png *png = png_of(canvas);
	gdImageStringUp(png->image, font_of(font), x, y, (unsigned char *)text, png->colours[colour]);
}

static void finish(struct canvas *canvas)
{
	struct png *png = png_of(canvas);
	int size;
	void *file = gdImagePngPtr(png->image, &size);
	if (file)
		png->host->write(canvas->out, file, (size_t)size);
	else
		png->host->fail(canvas->out, ENOMEM);
	gdFree(file);
	gdImageDestroy(png->image);
	free(png);
}

static const struct canvas_impl impl = {
	.outline = outline,
	.fill = fill,
	.line = line,
	.dashes = dashes,
	.curve = line,
	.text = draw_text,
	.text_up = draw_text_up,
	.finish = finish,
};

__attribute__((visibility("default"))) struct canvas *canvas_png_make(struct out *out, int width, int height,
								      const struct canvas_host *host)
{
	struct png *png = malloc(sizeof(*png));
	if (!png)
		return NULL;
	*png = (struct png){ .canvas = { &impl, out, width, height },
			     .host = host,
			     .image = gdImageCreate(width, height) };
	if (!png->image) {
		free(png);
		return NULL;
	}
	/* The first allocated colour is the background. The PNG's palette keeps the order. */
	for (unsigned i = 0; i < CANVAS_COLOURS; i++)
		png->colours[i] =
			gdImageColorAllocate(png->image, host->rgb[i][0], host->rgb[i][1], host->rgb[i][2]);
	gdImageColorTransparent(png->image, png->colours[CANVAS_BACKGROUND]);
	return &png->canvas;
}
