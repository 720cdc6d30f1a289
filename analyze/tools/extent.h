/* SPDX-License-Identifier: MIT */
/* What a trace's file says before its replay: when the run ends, and how many events it has. */
#ifndef ANALYZE_EXTENT_H
#define ANALYZE_EXTENT_H

#include "tool.h"

struct extent {
	uint64_t end_ns, events;
};

/*
 * Reads all headers if the file has no END unit, and of a damaged one as many as are sound. A pipe has been copied to a
 * file, so every input can be read twice.
 */
struct extent extent_measure(const struct tool_trace *trace);

#endif
