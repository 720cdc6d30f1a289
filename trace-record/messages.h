/* SPDX-License-Identifier: MIT */
/* What msrec says, on stderr. */
#ifndef TRACE_RECORD_MESSAGES_H
#define TRACE_RECORD_MESSAGES_H

#include <stdbool.h>

#include "report.h"

/* `verbosity` 0 leaves only errors; then files are listed (finished_files.h) only if `listed`. */
void messages_setup(int verbosity, bool listed);

/* A line with msrec's name in front. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* The line about a file as such. */
void messages_print_file(const char *path, uint64_t events, uint64_t lost, uint64_t bytes);

/* What is remarkable of one file; its own line, too, unless that is one of the run's last lines (last_lines.h). */
void messages_report(const struct recording_report *report);

#endif
