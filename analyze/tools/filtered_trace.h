/* SPDX-License-Identifier: MIT */
/*
 * A trace of the blocks that pass a filter, in a file without a name, to be read in place of the trace. Times, threads,
 * names, markers and samples of the process's memory are those of the trace.
 */
#ifndef ANALYZE_FILTERED_TRACE_H
#define ANALYZE_FILTERED_TRACE_H

#include "rewrite.h"
#include "tool.h"

struct filtered_trace_job {
	const struct block_filter_query *query;
	uint64_t until_ms; /* the new trace ends then; UINT64_MAX: where the trace ends */
	bool every_part; /* also what no section of a report reads: instructions, stack depths, mappings, pages */
	bool left_out; /* with the markers of left_out.h */
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

/* ---- For a replay of one's own ---- */

/* The moment behind a millisecond, as block_filter_scan has it. */
uint64_t filtered_trace_before(uint64_t until_ms);

/*
 * Makes the filter of such a trace. `has_identity`: the trace says which block each free gives back. Returns
 * TOOL_COMPLETE, or another tool_status after a message.
 */
int filtered_trace_filter(const struct tool *tool, const struct tool_trace *trace,
			  const struct block_filter_query *query, uint64_t before_ns, bool has_identity,
			  struct block_filter **filter);

/* After the replay: sets found[] of the query's threads, then modules, then functions that the trace has. */
void filtered_trace_find(const struct tool_trace *trace, const struct block_filter *filter, bool *found);

/* After the replay: notices about words that mean nothing in the trace. */
void filtered_trace_notice(const struct tool *tool, const struct tool_trace *trace,
			   const struct block_filter *filter);

#endif
