/* SPDX-License-Identifier: MIT */
/*
 * From a trace to another trace: its intact part unchanged, or rewritten (rewrite.h); optionally with the names of its
 * frames.
 */
#ifndef ANALYZE_TRACE_TO_TRACE_H
#define ANALYZE_TRACE_TO_TRACE_H

#include "rewrite.h"
#include "tool.h"

struct trace_to_trace {
	const char *input;  /* "-" is standard input */
	const char *output; /* NULL or "-": standard output */
	bool embed_symbols;
	bool rewrites;  /* as the options say; else embed_symbols: the units stay as they are */
	bool from_fork; /* only what a forked child did itself, with what it began with */
	struct rewrite_options options; /* but `first` */
};

/* Says what goes wrong; returns an enum tool_status. */
int trace_to_trace_run(const struct tool *tool, const struct trace_to_trace *job);

/* Copies the trace on `fd`, from its present position, to the output of a job. */
int trace_to_trace_keep(const struct tool *tool, const char *output, int fd);

#endif
