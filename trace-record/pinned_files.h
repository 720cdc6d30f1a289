/* SPDX-License-Identifier: MIT */
/*
 * Holds the files of a recorded process's modules open, so that the end of the recording finds the names in a file that was
 * deleted or replaced meanwhile.
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

/* Zero-initialise. */
struct pinned_files {
	struct pinned_file *files; /* by module of the trace */
	uint32_t n, capacity;
};

/* Opens the files of modules that are new, as long as there are descriptors. */
void pinned_files_look(struct pinned_files *pinned_files, const struct mst_writer *writer, pid_t pid);
void pinned_files_finish(struct pinned_files *pinned_files);

/* The descriptor of a module's file; -1: it is not pinned. */
int pinned_files_fd(const struct pinned_files *pinned_files, uint32_t module);

enum pinned_state {
	PINNED_SAME,     /* or unknown */
	PINNED_DELETED,  /* nothing is at its path */
	PINNED_REPLACED, /* another file is at its path */
};

enum pinned_state pinned_files_state(const struct pinned_files *pinned_files, uint32_t module,
				     const char *path);

#endif
