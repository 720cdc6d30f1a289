/* SPDX-License-Identifier: MIT */
/* From an open trace to its summary for a fleet. */
#ifndef ANALYZE_FLEET_RUN_H
#define ANALYZE_FLEET_RUN_H

#include "emit.h"
#include "fleet_labels.h"
#include "tool.h"

/*
 * Replays `trace`, which can be read twice, and writes `name`. Values of labels have their patterns replaced. Prints the
 * problem; returns an enum tool_status.
 */
int fleet_run(const struct tool *tool, const struct tool_trace *trace, const struct emitter *emitter,
	      const struct fleet_labels *labels, const char *name);

/* The same rows for msreport, without labels, as CSV. Returns a tool_status. */
int fleet_run_rows(const struct tool *tool, const struct tool_trace *trace, struct out *out);

/* Writes the tables in the SQL of ClickHouse, or of DuckDB. */
int fleet_run_schema(const struct tool *tool, bool clickhouse, const char *name);

#endif
