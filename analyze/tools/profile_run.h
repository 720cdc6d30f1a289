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

/* A replayed recording as the formats of profiles see it. It must not be moved. */
struct profiled {
	struct emit_view view;
	struct profile_query query;
	struct profile *profile;
	struct symbolizer *symbolizer;
};

/* Replays `trace` likewise. Returns an enum tool_status; profiled_finish() must be called in each case. */
int profiled_read(struct profiled *profiled, const struct tool *tool, const struct tool_trace *trace,
		  const struct emitter *emitter, const struct emit_query *query);
void profiled_finish(struct profiled *profiled, const struct tool *tool);

/* Writes what changed between two of them. False after a message. */
bool profiled_write_diff(const struct profiled *profiled, const struct profiled *base,
			 const struct tool *tool, const char *name);

#endif
