/* SPDX-License-Identifier: MIT */
/* Labels of a run, whose values can have patterns: %h this machine's name, %p the recorded process, %e its program. */
#ifndef ANALYZE_RUN_LABELS_H
#define ANALYZE_RUN_LABELS_H

#include "fleet_labels.h"
#include "tool.h"

/* Adds `labels` to `to`, which is to be finished in each case, with their patterns replaced. False after a message. */
bool run_labels_expand(const struct tool *tool, const struct tool_trace *trace,
		       const struct fleet_labels *labels, struct fleet_labels *to);

#endif
