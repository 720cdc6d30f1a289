/* SPDX-License-Identifier: MIT */
/* A trace that is written anew, in a file without a name, to be read in place of the trace that it comes from. */
#ifndef ANALYZE_REWRITTEN_TRACE_H
#define ANALYZE_REWRITTEN_TRACE_H

#include "rewrite.h"
#include "tool.h"

/*
 * Reads a file from the trace's beginning, beside the trace's own reader: its position stays. False with errno: it cannot
 * be read twice.
 */
bool rewritten_trace_rewind(const struct tool_trace *trace, off_t *position);
bool rewritten_trace_return(const struct tool_trace *trace, off_t position);

/* Looks what the trace has. False after a message. */
bool rewritten_trace_look(const struct tool *tool, const struct tool_trace *trace,
			  struct rewrite_survey *survey);

/* Reports a negative enum mst_error; of MST_ERR_IO, errno. */
void rewritten_trace_error(const struct tool *tool, const struct tool_trace *trace, int error);

/*
 * Replays the trace to its end, prints what tool_replay() would, and opens the new one as `made`, with the trace's name:
 * tool_close() it if there is a result. `has_identity` is the survey's. Returns a tool_status.
 */
int rewritten_trace_make(const struct tool *tool, const struct tool_trace *trace,
			 const struct rewrite_options *options, bool has_identity, struct tool_trace *made);

#endif
