/* SPDX-License-Identifier: MIT */
/*
 * The graph of total memory over time: one bar for each snapshot, `#` for the peak, `@` for those with a
 * tree, `:` for the others, and a row of the same character from a bar's top to the next bar.
 */
#ifndef MS_PRINT_GRAPH_H
#define MS_PRINT_GRAPH_H

#include "parse.h"

#include <stdio.h>

#define GRAPH_SIZE_MIN 4
#define GRAPH_SIZE_MAX 1000

struct graph_size {
	unsigned columns, rows; /* without the axes; each GRAPH_SIZE_MIN..GRAPH_SIZE_MAX */
};

enum graph_problem {
	GRAPH_OK,
	GRAPH_NO_MEMORY,
	GRAPH_NO_SNAPSHOTS,
	GRAPH_BAD_TIME_UNIT,
	GRAPH_BAD_END,      /* the last snapshot's time is negative, infinite or not a number */
	GRAPH_OUT_OF_RANGE, /* a snapshot is too far left of the time axis */
};

/* Draws only if it returns GRAPH_OK. */
enum graph_problem graph_print(FILE *out, const struct profile *profile, struct graph_size size);

#endif
