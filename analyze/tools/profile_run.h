/* SPDX-License-Identifier: MIT */
/*
 * From an open trace to one file in a format that shows a profile or single events: all formats of emit.h that
 * massif_run.h doesn't write.
 */
#ifndef ANALYZE_PROFILE_RUN_H
#define ANALYZE_PROFILE_RUN_H

#include "emit.h"
#include "tool.h"

/*
 * Replays `trace`, which must be fresh from tool_open() and settled, and writes `name` ("-" is
 * standard output). Prints the problem; returns an enum tool_status.
 */
int profile_run(const struct tool *tool, const struct tool_trace *trace, const struct emitter *emitter,
		const struct emit_query *query, const char *name);

#endif
