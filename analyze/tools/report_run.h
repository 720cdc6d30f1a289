/* SPDX-License-Identifier: MIT */
/* Runs a report: one pass over the trace for all sections, then what they write. */
#ifndef ANALYZE_REPORT_RUN_H
#define ANALYZE_REPORT_RUN_H

#include "page.h"
#include "report_options.h"

/* Returns a tool_status. */
int report_run(const struct report_command *command, const struct tool_trace *trace);

/* Writes the command's page with what players found. Returns a tool_status. */
int report_run_page(const struct report_command *command, const struct tool_trace *trace,
		    const struct page_player *player);

#endif
