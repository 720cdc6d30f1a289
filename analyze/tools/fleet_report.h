/* SPDX-License-Identifier: MIT */
/* msreport --fleet: all traces below folders, read in parallel by processes of their own. */
#ifndef ANALYZE_FLEET_REPORT_H
#define ANALYZE_FLEET_REPORT_H

#include "report_options.h"

/* Returns the exit status. */
int fleet_report(const struct report_command *command);

#endif
