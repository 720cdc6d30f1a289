/* SPDX-License-Identifier: MIT */
/*
 * From an open trace to a file in one of the formats of emit.h: replay, names, output.
 */
#ifndef ANALYZE_CONVERSION_H
#define ANALYZE_CONVERSION_H

#include "emit.h"
#include "tool.h"

/*
 * Replays `trace`, which must be fresh from tool_open(), by the tool's settled settings and writes
 * the file `name` ("-" is standard output). Says what goes wrong; returns an enum tool_status.
 */
int conversion_run(const struct tool *tool, const struct tool_trace *trace,
		   const struct emitter *emitter, const char *name);

#endif
