/* SPDX-License-Identifier: MIT */
/* Writes msreport's answer where the command line wants it: through a pager if that is a terminal. */
#ifndef ANALYZE_REPORT_PRINT_H
#define ANALYZE_REPORT_PRINT_H

#include "answer.h"
#include "report_options.h"

/* False after a message. */
bool report_print(const struct report_command *command, const struct answer *answer);

#endif
