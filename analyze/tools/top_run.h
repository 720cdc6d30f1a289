/* SPDX-License-Identifier: MIT */
/* Follows a trace for mstop: on a terminal until the user quits, else up to its present end. */
#ifndef ANALYZE_TOP_RUN_H
#define ANALYZE_TOP_RUN_H

#include "top_options.h"

/*
 * `path` is the trace; `pid` the recorded process, whose next file is followed, too, 0: none. `screen`: show it on the
 * terminal, else print it. Returns a tool_status.
 */
int top_run(const struct top_command *command, const char *path, int32_t pid, bool screen);

#endif
