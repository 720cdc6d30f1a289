/* SPDX-License-Identifier: MIT */
/*
 * Holds the files open that a recorded process runs from: when one of them is deleted or replaced,
 * its names can still be had at the end.
 *
 * A file is opened when its module is first defined in the trace, as a rule while the process lives:
 * the executable through /proc/PID/exe, others by their path, or, if nothing is there any more,
 * through /proc/PID/map_files, for which Linux wants CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
 */
#ifndef TRACE_RECORD_PINNED_FILES_H
#define TRACE_RECORD_PINNED_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "mst_writer.h"

/* All zero is the beginning. */
struct pinned_files {
	struct kept *files; /* by module of the trace */
	uint32_t n, capacity;
};

/* Opens the files of modules that are new. Where descriptors run out, files are not kept. */
void pinned_files_look(struct pinned_files *pinned_files, const struct mst_writer *writer, pid_t pid);
void pinned_files_finish(struct pinned_files *pinned_files);

/* The descriptor of a module's file; -1 if it isn't kept. */
int pinned_files_fd(const struct pinned_files *pinned_files, uint32_t module);

enum kept_state {
	KEPT_SAME,     /* or nobody knows */
	KEPT_DELETED,  /* nothing is at its path */
	KEPT_REPLACED, /* another file is at its path */
};

enum kept_state pinned_files_state(const struct pinned_files *pinned_files, uint32_t module,
				   const char *path);

#endif
