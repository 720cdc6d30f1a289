/* SPDX-License-Identifier: MIT */
/* msreport --repeat: records a command several times, and says what varies. */
#ifndef ANALYZE_REPEAT_RUN_H
#define ANALYZE_REPEAT_RUN_H

#include "report_options.h"

enum { REPEAT_STATUS_VARIES = 1 };

/* Returns the exit status. */
int repeat_run(const struct report_command *command);

#endif
