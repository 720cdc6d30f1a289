/* SPDX-License-Identifier: MIT */
/* What became of one file, for the user. */
#ifndef TRACE_RECORD_REPORT_H
#define TRACE_RECORD_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "notices.h"

/* A finished file, unless `refused`, `unfinished` or `waiting` says otherwise. */
struct recording_report {
	const char *path;
	pid_t refused;    /* this process is not recorded, for the reason in `error`; `path` may be NULL */
	bool unfinished;  /* the worker that was to write names and the end has died; only `path` is set */
	bool waiting;     /* the file is not finished: its disk is full, as error_number says */
	bool recorded;    /* the recorder was loaded into the process */
	bool executed;    /* the process goes on as another program */
	bool stopped;     /* the process goes on without being recorded */
	const char *next; /* the file in which the process's trace goes on; NULL: none */
	uint64_t events, lost, bytes;
	int error;                     /* negative enum mst_error of the first failed write, or 0 */
	int error_number;              /* errno of that write */
	const struct notices *notices; /* about the names in the trace */
};

typedef void report_file(const struct recording_report *report);

#endif
