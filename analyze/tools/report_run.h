/* SPDX-License-Identifier: MIT */
/* Runs a report: one pass over the trace for all sections, then what they write. */
#ifndef ANALYZE_REPORT_RUN_H
#define ANALYZE_REPORT_RUN_H

#include "report_options.h"

/* Returns a tool_status. */
int report_run(const struct report_command *command, const struct tool_trace *trace);

#endif
