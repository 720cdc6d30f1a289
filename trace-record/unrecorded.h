/* SPDX-License-Identifier: MIT */
/*
 * Programs that recorded processes execute, and that are not recorded themselves: because their file shows that it would be in
 * vain, or because the process that executes them says so. Reports each program and reason once.
 */
#ifndef TRACE_RECORD_UNRECORDED_H
#define TRACE_RECORD_UNRECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report.h"
#include "shm.h"

#define UNRECORDED_LINES 50u /* that are reported one by one */

/* A file that was judged, as stat() describes it. */
struct unrecorded_file {
	dev_t device;
	ino_t inode;
	int64_t changed_ns;
	char *objection; /* NULL: it can be recorded */
};

/* All zero at the start. */
struct unrecorded {
	char **lines; /* reported so far: path, a line end, reason */
	uint32_t n_lines, lines_room;
	uint32_t more; /* programs that were not reported for want of room or of memory */
	struct unrecorded_file *files;
	uint32_t n_files, files_room;
};

void unrecorded_finish(struct unrecorded *unrecorded);

/* Reports what processes have said since the last time. */
void unrecorded_take(struct unrecorded *unrecorded, struct shm_family *family, report_file *report);

/* Whether the program that runs as `pid`, with that file, cannot be recorded, which is then reported. */
bool unrecorded_program(struct unrecorded *unrecorded, pid_t pid, const char *exe, report_file *report);

#endif
