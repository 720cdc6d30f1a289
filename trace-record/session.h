/* SPDX-License-Identifier: MIT */
/* What all recordings of one run of msrec share. */
#ifndef TRACE_RECORD_SESSION_H
#define TRACE_RECORD_SESSION_H

#include "clock.h"
#include "control_socket.h"
#include "family.h"
#include "file_set.h"
#include "options.h"
#include "pushes.h"
#include "report.h"
#include "unrecorded.h"
#include "workers.h"

struct recording;

struct session {
	struct msrec_options options;
	report_file *report;
	struct family family;
	struct clock clock;
	uint64_t start_realtime_ns; /* when the clock started */
	char *cwd;                  /* at the start; NULL: unknown */
	pid_t main_pid;             /* of the program that msrec was given; 0: not started */
	struct file_set file_set;
	struct workers workers;
	struct pushes pushes;
	struct unrecorded unrecorded;
	struct control_socket control;
	struct attachment *attachment;   /* to the program and its children; NULL: it was started */
	const struct recording *writing; /* whose file is written now; NULL: no writer waits for room */

	/* How a recording asks its owner. */
	bool (*wait_for_room)(void *owner); /* a disk is full: waits a while; false: gives up */
	bool (*others_live)(const void *owner, const struct recording *recording);
	void *owner;
};

#endif
