/* SPDX-License-Identifier: MIT */
/*
 * A part of a trace, between marks or times, in a file without a name, to be read in place of the trace. It begins with
 * what was live there.
 */
#ifndef ANALYZE_CUT_TRACE_H
#define ANALYZE_CUT_TRACE_H

#include "marks.h"
#include "tool.h"

/* TRACE_PART_ALL is all of a trace. */
struct trace_part {
	const char *from_mark, *until_mark; /* NULL: none */
	uint64_t from_ms, until_ms;         /* in ms, both included; 0 and UINT64_MAX: no limit */
};

#define TRACE_PART_ALL ((struct trace_part){ .until_ms = UINT64_MAX })

static inline bool trace_part_is_all(const struct trace_part *part)
{
	return !part->from_mark && !part->until_mark && part->from_ms == 0 && part->until_ms == UINT64_MAX;
}

struct trace_places {
	struct mark_place from, until; /* of the part's marks */
};

/* Finds the part's marks. False after a message: one is missing, or nothing lies between them. */
bool trace_part_find(const struct tool *tool, const struct tool_trace *trace, const struct trace_part *part,
		     struct trace_places *places);

/*
 * Reads `trace`, a file, to its end, and prints what tool_replay() would. *cut has its name and origin; tool_close() it
 * if there is a result. Returns a tool_status.
 */
int cut_trace_make(const struct tool *tool, const struct tool_trace *trace, const struct trace_part *part,
		   const struct trace_places *places, struct tool_trace *cut);

#endif
