/* SPDX-License-Identifier: MIT */
/*
 * What msrec says at the end of a run: one line for all traces but one, what the program did and which command comes next, its
 * file, the sites that hold its peak (first_lines.h), and at last, if so, that the program was only a wrapper of what it ran.
 */
#ifndef TRACE_RECORD_LAST_LINES_H
#define TRACE_RECORD_LAST_LINES_H

#include "options.h"

struct last_lines {
	const struct capture_options *capture;
	int verbosity; /* above 1 all files but the program's have had their lines */
	bool shell;    /* the program is a shell, or a script for one */
};

/* When all workers are gone. */
void last_lines_print(const struct last_lines *lines);

#endif
