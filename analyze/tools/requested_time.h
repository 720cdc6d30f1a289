/* SPDX-License-Identifier: MIT */
/* Times on a command line (--at, --from) that lie behind the end of the trace: a notice says so. */
#ifndef ANALYZE_REQUESTED_TIME_H
#define ANALYZE_REQUESTED_TIME_H

#include "tool.h"

/*
 * After the replay: prints a notice if `time`, the value of `option` in the settings' unit, is after the end. `last` is
 * what the clock showed at the last call; `instead` says what the result shows.
 */
void requested_time_check(const struct tool *tool, const struct tool_trace *trace,
			  const struct settings *settings, const char *option, uint64_t time, uint64_t last,
			  const char *instead);

/* The same for a request; a peak or an end is never late. */
void requested_time_check_at(const struct tool *tool, const struct tool_trace *trace,
			     const struct settings *settings, const struct at *at, uint64_t last);

#endif
