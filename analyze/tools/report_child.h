/* SPDX-License-Identifier: MIT */
/* msreport in a process of its own, which writes a report beside a trace while its caller goes on. */
#ifndef ANALYZE_REPORT_CHILD_H
#define ANALYZE_REPORT_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Zero-initialised: none runs. */
struct report_child {
	pid_t pid; /* 0: none */
	bool text; /* a page could not be made */
	const char *trace;
	char *path; /* that it writes */
};

/* Starts one for a page beside `trace`, which outlives it. False: one runs, or it cannot be started. */
bool report_child_start(struct report_child *child, const char *trace);

/*
 * Whether a report has been finished since: then *path is its name, to be freed; NULL: it could not be written. Where
 * the page cannot be made, the text is written in its place.
 */
bool report_child_is_done(struct report_child *child, char **path);

/* Ends one that still runs. */
void report_child_finish(struct report_child *child);

#endif
