/* SPDX-License-Identifier: MIT */
/*
 * A pipe that is copied to a file without a name by a thread of its own, so that its writer never waits for the readers
 * of the file. While the pipe is open, the file looks like one that msrec still writes (FORMAT.md, section 11).
 */
#ifndef ANALYZE_PIPE_SPOOL_H
#define ANALYZE_PIPE_SPOOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pipe_spool {
	int from, to;
	pthread_t thread;
	_Atomic uint64_t bytes; /* copied so far */
	_Atomic bool ended;     /* the pipe is closed, or could not be copied further */
};

/* 0 or an errno. The descriptor stays the caller's. */
int pipe_spool_begin(struct pipe_spool *spool, int from);

/* The file at its beginning, for the caller to close. -1 with errno. */
int pipe_spool_open(const struct pipe_spool *spool);

/* After the pipe was closed, or to give up. */
void pipe_spool_end(struct pipe_spool *spool);

#endif
