/* SPDX-License-Identifier: MIT */
/* Options of all tools that answer with tables: where the answer goes, its units, and what is said beside it. */
#ifndef ANALYZE_ANSWER_OPTIONS_H
#define ANALYZE_ANSWER_OPTIONS_H

#include <argp.h>

/* Groups of help, behind those of the tool. */
enum { ANSWER_GROUP_OUTPUT = 16, ANSWER_GROUP_DIAGNOSTICS };

/* A child of the tool's parser. Its input is a struct report_command. */
extern const struct argp answer_argp;

#endif
