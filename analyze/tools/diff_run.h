/* SPDX-License-Identifier: MIT */
/* msreport --diff: what changed from one recording, or several, to another. */
#ifndef ANALYZE_DIFF_RUN_H
#define ANALYZE_DIFF_RUN_H

#include "report_options.h"

/* Returns a tool_status. */
int diff_run(const struct report_command *command);

#endif
