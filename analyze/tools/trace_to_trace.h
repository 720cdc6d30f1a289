/* SPDX-License-Identifier: MIT */
/*
 * From a trace to another trace: its intact part unchanged, or rewritten (rewrite.h); optionally with the names of its
 * frames.
 */
#ifndef ANALYZE_TRACE_TO_TRACE_H
#define ANALYZE_TRACE_TO_TRACE_H

#include "cut_trace.h"
#include "rewrite.h"
#include "tool.h"

struct trace_to_trace {
	const char *input;  /* "-" is standard input */
	const char *output; /* NULL or "-": standard output */
	bool embed_symbols;
	bool rewrites; /* applies `options`; else embed_symbols must be set, and the units stay as they are */
	struct trace_part part;         /* its marks alone; times are in `options` */
	bool from_fork;                 /* begins at the fork of a forked child, with its initial state */
	struct rewrite_options options; /* but `first` and `filter` */
	const struct block_filter_query *filter; /* of the blocks that are written; NULL: all */
};

/* Prints the problem; returns an enum tool_status. */
int trace_to_trace_run(const struct tool *tool, const struct trace_to_trace *job);

/* Copies the trace on `fd`, from its present position, to the output of a job. */
int trace_to_trace_keep(const struct tool *tool, const char *output, int fd);

#endif
