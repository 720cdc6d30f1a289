/* SPDX-License-Identifier: MIT */
/*
 * From a trace to another trace: the sound part of it as it is, or rewritten (rewrite.h), with the names of its
 * frames if wanted.
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

/* Puts what `fd` holds, a trace, from its present position on where the output of a job goes. */
int trace_to_trace_keep(const struct tool *tool, const char *output, int fd);

#endif
