/* SPDX-License-Identifier: MIT */
/*
 * Text in the cells of a screen. Names are hostile: what is put into cells has no control characters, is valid in the
 * screen's character set, and takes as many columns as is counted here.
 */
#ifndef ANALYZE_CELLS_H
#define ANALYZE_CELLS_H

#include <stdbool.h>
#include <stddef.h>

/* A line in the making. Zero-initialise; the owner frees `text`. */
struct cells {
	char *text; /* NUL-terminated once something was added */
	size_t n, room;
	unsigned columns; /* taken so far */
	unsigned
		most; /* columns that there are, and the locale knows how wide characters are; 0: no limit, all have one */
	bool utf8;   /* else ASCII alone: '?' stands for other characters */
	bool failed; /* no memory */
};

/* Adds as much of the text as there is room for. A wide character at the edge is left out. */
void cells_add(struct cells *cells, const char *text);
/* The same, but of the text at most `most` columns; 0: none. */
void cells_add_most(struct cells *cells, const char *text, unsigned most);
void cells_printf(struct cells *cells, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Blanks up to a column; none if it is passed. */
void cells_pad(struct cells *cells, unsigned column);

/* The text at the right end of `width` columns and a blank behind it. */
void cells_right(struct cells *cells, const char *text, unsigned width);

#endif
