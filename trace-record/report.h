/* SPDX-License-Identifier: MIT */
/* What became of one file, for the user. */
#ifndef TRACE_RECORD_REPORT_H
#define TRACE_RECORD_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "notices.h"

/* What it cost to know the stacks of a process's calls. */
struct recording_stacks {
	uint64_t defined;       /* contexts that its threads have sent */
	uint64_t distinct;      /* in the files */
	uint64_t walks, resets; /* of struct stack_counts */
};

/* What the process did, as far as it is recorded; of all files of a rotation. Bytes are those asked for. */
struct recording_figures {
	uint64_t calls;      /* of the malloc family */
	uint64_t peak, live; /* bytes; live at the end */
	uint64_t ran_ns;
	struct recording_stacks stacks;
};

#define REPORT_STREAM "standard output" /* the path of the trace that goes there */

/* A finished file, unless `refused`, `unrecorded`, `unfinished`, `unpushed` or `waiting` says otherwise. */
struct recording_report {
	const char *path;
	pid_t refused;   /* this process is not recorded, for the reason in `error`; `path` may be NULL */
	bool unfinished; /* the worker that was to write names and the end has died; only `path` is set */
	const char *unpushed; /* not NULL: why the profile of the finished file is not pushed now */
	bool waiting;         /* the file is not finished: its disk is full, as error_number says */
	const char *
		unrecorded; /* not NULL: about the program at `path`, which is not recorded: the sentence goes on */
	bool recorded;    /* the recorder was loaded into the process */
	bool executed;    /* the process goes on as another program */
	bool stopped;     /* the process goes on without being recorded */
	bool passing;     /* it is removed when its profile is pushed */
	const char *next; /* the file in which the process's trace goes on; NULL: none */
	uint64_t events, lost, bytes;
	bool main;           /* of the program that msrec was given, or of one that it has become */
	const char *program; /* its file name */
	struct recording_figures figures;
	int error;                     /* negative enum mst_error of the first failed write, or 0 */
	int error_number;              /* errno of that write */
	const struct notices *notices; /* about the names in the trace */
	const char *remark;            /* for those who want to know more; NULL: none */
};

typedef void report_file(const struct recording_report *report);

#endif
