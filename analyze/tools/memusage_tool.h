/* SPDX-License-Identifier: MIT */
/*
 * memusage's options, and the way from an open trace to its report, data file and pictures. Prints messages, as tool.h
 * does.
 */
#ifndef ANALYZE_MEMUSAGE_TOOL_H
#define ANALYZE_MEMUSAGE_TOOL_H

#include "graph.h"
#include "memusage.h"
#include "progress.h"
#include "tool.h"

struct memusage_tool {
	bool full; /* also print the full report (fullusage.h) */
	enum memusage_maps maps;
	enum term_colour colour;
	const char *data, *png, *svg; /* names of files; NULL: not wanted */
	const char *report; /* name of the report's file; NULL: it goes to the stream that is given */
	const char *given;  /* the first option met, by its long name; NULL: none */
	struct graph graph;
};

/* The options -m -d -p -t -T -x -y, --title, --svg and --color; its input is a struct memusage_tool. */
extern const struct argp memusage_tool_argp;

void memusage_tool_init(struct memusage_tool *usage);

/*
 * Replays `trace`, prints the report on `report`, a stream on the descriptor `fd`, or writes it to its file, and writes
 * the other files. Returns an enum tool_status.
 */
int memusage_tool_run(const struct memusage_tool *usage, const struct tool *tool,
		      const struct tool_trace *trace, FILE *report, int fd);

/* Checks, before a trace exists, that all files have different names. Prints the problem; 0 or an enum tool_status. */
int memusage_tool_check(const struct memusage_tool *usage, const struct tool *tool);

#endif
