/* SPDX-License-Identifier: MIT */
/* The shared memory of a run: an anonymous file that msrec owns and every recorded process maps. */
#ifndef TRACE_RECORD_FAMILY_H
#define TRACE_RECORD_FAMILY_H

#include "options.h"
#include "shm.h"

struct family {
	int fd;                 /* -1: none */
	pid_t owner;            /* the process that made it, which may have forked since */
	struct shm_family *shm; /* NULL: none */
	char path[64];          /* where a child process finds the file */
};

/* In the file `fd`, which becomes the family's, or, with -1, in a new one. 0, or -1 with errno; then there is nothing to leave. */
int family_create(struct family *family, const struct capture_options *options, int fd);

/* Unmaps and closes; a process that maps or holds the file counts as recorded. */
void family_leave(struct family *family);

/* Gives segment `i` back, zeroed. */
void family_free_segment(struct family *family, uint32_t i);

#endif
