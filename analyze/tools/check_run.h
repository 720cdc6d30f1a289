/* SPDX-License-Identifier: MIT */
/* msreport --check: whether recordings keep to limits. */
#ifndef ANALYZE_CHECK_RUN_H
#define ANALYZE_CHECK_RUN_H

#include "report_options.h"

enum { CHECK_STATUS_EXCEEDED = 1, CHECK_STATUS_UNVERIFIED = 2 };

/* Returns the exit status. */
int check_run(const struct report_command *command);

#endif
