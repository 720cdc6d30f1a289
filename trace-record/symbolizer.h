/* SPDX-License-Identifier: MIT */
/*
 * Writes names into the trace at the end of a recording: for all frames if that was asked for, else only for those whose names
 * cannot be found later: in files that are deleted or replaced by now, in the vDSO, and in code that the program generated.
 */
#ifndef TRACE_RECORD_SYMBOLIZER_H
#define TRACE_RECORD_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "generated.h"
#include "mst_writer.h"
#include "notices.h"
#include "pinned_files.h"

struct symbolizer_task {
	struct mst_writer *writer; /* after its last record */
	const struct pinned_files *pinned_files;
	pid_t pid;
	const char *folder;                /* where the program started; for jitdumps */
	uint64_t since;                    /* CLOCK_REALTIME in ns then */
	const struct generated *generated; /* code that was at an address before other code; NULL: none */
	bool all;                          /* names for all frames */
	struct notices *notices;           /* remarks are added here */
};

/* Whether there may be any names to look up; false is certain. Cheap. */
bool symbolizer_has_work(const struct symbolizer_task *task);

/* 0 or a negative enum mst_error. */
int symbolizer_run(const struct symbolizer_task *task);

#endif
