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

#include "mstrace.h"

/* All zero is the beginning. */
struct keeper {
	struct kept *files; /* by module of the trace */
	uint32_t n;
};

/* Opens the files of modules that are new. Where descriptors run out, files are not kept. */
void keeper_look(struct keeper *keeper, const struct mst_writer *writer, pid_t pid);
void keeper_finish(struct keeper *keeper);

/* The descriptor of a module's file; -1 if it isn't kept. */
int keeper_fd(const struct keeper *keeper, uint32_t module);

enum kept_state {
	KEPT_SAME,     /* or nobody knows */
	KEPT_DELETED,  /* nothing is at its path */
	KEPT_REPLACED, /* another file is at its path */
};

enum kept_state keeper_state(const struct keeper *keeper, uint32_t module, const char *path);

#endif
