/* SPDX-License-Identifier: MIT */
/*
 * memusage's side of the tools: its options, and the way from an open trace to its report, data
 * file and pictures. Like tool.h it is the mains' right hand and says what goes wrong.
 */
#ifndef ANALYZE_MEMUSAGE_TOOL_H
#define ANALYZE_MEMUSAGE_TOOL_H

#include "graph.h"
#include "memusage.h"
#include "progress.h"
#include "tool.h"

struct usage {
	bool full; /* also what memusage doesn't tell */
	enum memusage_maps maps;
	enum term_colour colour;
	const char *data, *png, *svg; /* names of files; NULL: not wanted */
	const char *given;            /* the first option met, by its long name; NULL: none */
	struct graph graph;
};

/* The options -m -d -p -t -T -x -y, --title, --svg and --color; its input is a struct usage. */
extern const struct argp usage_argp;

void usage_init(struct usage *usage);

/*
 * Replays `trace`, prints the report on `report`, a stream on the descriptor `fd`, and writes the
 * files. Returns an enum tool_status.
 */
int usage_run(const struct usage *usage, const struct tool *tool, const struct tool_trace *trace,
	      FILE *report, int fd);

/* Whether each file has its own name, before there is a trace. Says what is wrong; 0 or an enum tool_status. */
int usage_check(const struct usage *usage, const struct tool *tool);

#endif
