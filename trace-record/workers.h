/* SPDX-License-Identifier: MIT */
/*
 * Children of msrec that finish files. Looking names up takes long; a worker does it while msrec goes on draining the
 * processes that are still recorded.
 */
#ifndef TRACE_RECORD_WORKERS_H
#define TRACE_RECORD_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "family.h"
#include "report.h"

/* Zero-initialise. */
struct workers {
	struct worker *items; /* the oldest first */
	uint32_t n, capacity;
};

enum worker_side {
	WORKER_NONE,  /* no worker could be started */
	WORKER_MSREC, /* in msrec: a worker has been started */
	WORKER_SELF,  /* in the worker, when its turn has come */
};

/*
 * Forks a worker that finishes the file at `path`; it leaves the family, because its mappers count as recorded processes.
 * Few workers work at a time, the others wait for their turn; if there are too many, msrec waits for the oldest.
 */
enum worker_side workers_start(struct workers *workers, struct family *family, const char *path,
			       report_file *report);

/* Forgets workers that have ended, and reports files that they left unfinished. */
void workers_reap(struct workers *workers, report_file *report);

/* Whether one is finishing this file. */
bool workers_have(const struct workers *workers, const char *path);

/* Waits for all workers. */
void workers_finish(struct workers *workers, report_file *report);

#endif
