/* SPDX-License-Identifier: MIT */
/*
 * A trace of the blocks that pass a filter, in a file without a name, to be read in place of the trace. Times, threads,
 * names, markers and samples of the process's memory are those of the trace.
 */
#ifndef ANALYZE_FILTERED_TRACE_H
#define ANALYZE_FILTERED_TRACE_H

#include "block_filter.h"
#include "tool.h"

struct filtered_trace_job {
	const struct block_filter_query *query;
	uint64_t until_ms; /* the new trace ends then; UINT64_MAX: where the trace ends */
	bool left_out;     /* with the markers of left_out.h */
};

struct filtered_trace {
	struct tool_trace trace; /* tool_close() it if there is a result */
	struct block_filter_count all, passed;
};

/*
 * Reads `trace`, which must be a file that can be read twice, to its end, and prints what tool_replay() would. The new
 * trace has its name. Returns a tool_status.
 */
int filtered_trace_make(const struct tool *tool, const struct tool_trace *trace,
			const struct filtered_trace_job *job, struct filtered_trace *filtered);

#endif
