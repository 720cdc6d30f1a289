/* SPDX-License-Identifier: MIT */
/* Runs a report about several traces: one pass over each, then their family's answer. */
#ifndef ANALYZE_FAMILY_RUN_H
#define ANALYZE_FAMILY_RUN_H

#include "report_options.h"

/*
 * Traces that cannot be read are left out after a message; the status is then TOOL_PARTIAL, and TOOL_NO_RESULT if none is
 * left. Returns a tool_status.
 */
int family_run(const struct report_command *command);

#endif
