/* SPDX-License-Identifier: MIT */
/* What msrec says, on stderr. */
#ifndef TRACE_RECORD_MESSAGES_H
#define TRACE_RECORD_MESSAGES_H

#include <stdbool.h>

#include "report.h"

/* `verbosity` 0 leaves only errors; `records_children`: with --trace-children=yes. */
void messages_setup(int verbosity, bool records_children);

/* A line with msrec's name in front. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* The lines about one file; the last one has its events, losses and size. */
void messages_report(const struct recording_report *report);

#endif
