/* SPDX-License-Identifier: MIT */
/* msreport --follow: the answer about a trace that grows, again and again until its recording ends. */
#ifndef ANALYZE_REPORT_FOLLOW_H
#define ANALYZE_REPORT_FOLLOW_H

#include "report_options.h"

/* Returns a tool_status, that of the last answer. */
int report_follow(const struct report_command *command);

#endif
