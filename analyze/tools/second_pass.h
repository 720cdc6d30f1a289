/* SPDX-License-Identifier: MIT */
/* What a report needs to read a trace a second time for, when it knows what the first pass has shown. */
#ifndef ANALYZE_SECOND_PASS_H
#define ANALYZE_SECOND_PASS_H

#include "report_options.h"
#include "tool.h"

/*
 * Asks the command's sections, or those of a `page`, for observers, and replays the trace if there are any. 0, or an enum mst_error.
 */
int second_pass_run(const struct report_command *command, const struct tool_trace *trace, bool page,
		    struct report *report);

#endif
