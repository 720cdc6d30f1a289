/* SPDX-License-Identifier: MIT */
/*
 * memusagestat(1)'s picture of a data file: live bytes in red with their scale on the left, the
 * depth of the stack in green with its scale on the right, over the calls or over time. Its
 * geometry is memusagestat's; drawn by libgd the file is the same to a byte.
 */
#ifndef ANALYZE_GRAPH_H
#define ANALYZE_GRAPH_H

#include "canvas.h"
#include "datafile.h"

#define GRAPH_WIDTH 800u /* the default */
#define GRAPH_HEIGHT 600u
#define GRAPH_LEAST_WIDTH 100u
#define GRAPH_LEAST_HEIGHT 80u
#define GRAPH_MOST 16384u

struct graph {
	bool by_time;           /* the axis is time, the ticks below it are calls; else the reverse */
	bool total;             /* also the sum of both, in black; all by one scale */
	const char *title;      /* NULL or "": none */
	unsigned width, height; /* pixels, GRAPH_LEAST_... to GRAPH_MOST */
};

/* Draws the whole picture; the canvas has the graph's size. Errors of reading are the data's. */
void graph_draw(const struct graph *graph, struct canvas *canvas, struct datafile *data);

#endif
