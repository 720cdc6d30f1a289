/* SPDX-License-Identifier: MIT */
/* Plays a trace: a pass to look at it, one for each batch of players, and one up to the moment of the blame. */
#ifndef ANALYZE_WHATIF_RUN_H
#define ANALYZE_WHATIF_RUN_H

#include "whatif_options.h"

/* Returns a tool_status. */
int whatif_run(const struct whatif_command *command, const struct tool_trace *trace);

#endif
