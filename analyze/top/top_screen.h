/* SPDX-License-Identifier: MIT */
/* A screen of mstop as lines of text. Who draws them decides what a style looks like. */
#ifndef ANALYZE_TOP_SCREEN_H
#define ANALYZE_TOP_SCREEN_H

#include "cells.h"
#include "top_view.h"

/* What is shown beside the sample. */
struct top_scene {
	const struct top_sample *sample;
	const struct top_view *view;
	const struct mst_reader *reader;
	struct sites *sites;
	const char *command; /* of the program */
	const char *trace;   /* its name */
	const char *message; /* NULL: none */
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEADER, TOP_SELECTED, TOP_MESSAGE, TOP_KEYS };

struct top_line {
	char *text; /* NULL: empty */
	enum top_style style;
};

/* Zero-initialise, then set the first three. */
struct top_screen {
	unsigned rows, columns; /* 0: as many as there are */
	bool utf8;              /* else ASCII */
	struct top_line *lines;
	uint32_t n, room;
	bool failed; /* no memory */
};

/* How many rows of a table, or lines of a stack, a screen of so many rows has; 0: no limit. */
unsigned top_screen_rows(unsigned rows);

/* Replaces the lines. False: no memory. */
bool top_screen_build(struct top_screen *screen, const struct top_scene *scene);
void top_screen_finish(struct top_screen *screen);

/* "running", "exit 0", "killed by signal 9" ...: a constant, or `text`. */
const char *top_state_text(const struct top_sample *sample, char text[40]);

#endif
