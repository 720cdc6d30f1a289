/* SPDX-License-Identifier: MIT */
/*
 * With --push each file of a rotation is a profile: of what was allocated since the file before, and of what is live at its
 * end. msconvert makes it, and a command gets it. There is one child at a time, and nothing waits for it while programs are
 * recorded. A profile stays first in line until the command has taken it; too old ones are given up.
 */
#ifndef TRACE_RECORD_PUSHES_H
#define TRACE_RECORD_PUSHES_H

#include <stdatomic.h>

#include "file_set.h"
#include "options.h"
#include "push_child.h"
#include "report.h"
#include "workers.h"

/* A file whose last record is written. */
struct push_file {
	const char *path, *program;
	pid_t pid;
	uint64_t from_ns, until_ns; /* what it holds, since 1970 */
	bool forked;                /* it begins with what the process's parent did */
	bool stays;                 /* it is not removed when its profile is pushed */
};

struct push_counts {
	uint32_t pushed;
	uint32_t waiting;  /* profiles that were not pushed, whose files stay */
	uint32_t given_up; /* those that were not pushed and will not be */
	uint32_t failures; /* of the command */
	char why[80];      /* of the last failure */
};

/* Initialise the first four. */
struct pushes {
	const struct push_options *options;
	struct file_set *file_set;
	const struct workers *workers; /* that finish files */
	report_file *report;
	struct push *items; /* the oldest first; it is the child's that there is */
	uint32_t n, capacity;
	struct push_child child;
	uint64_t due_ns;   /* when files are to end; 0: not yet known */
	uint64_t retry_ns; /* not before that, after a failure */
	bool fails;        /* the last attempt did, and that was said */
	struct push_counts counts;
	_Atomic bool cancelled;
};

/* Whether it is time to end all files; then the next time is one period later. */
bool pushes_are_due(struct pushes *pushes);

/* Takes a file. */
void pushes_add(struct pushes *pushes, const struct push_file *file);

/* Goes on as far as that is possible without waiting. */
void pushes_work(struct pushes *pushes);

/* No program is recorded any more: pushes what is left, until an attempt fails or pushes_cancel(). */
void pushes_finish(struct pushes *pushes);

/* In a signal handler: ends pushes_finish(). */
void pushes_cancel(struct pushes *pushes);

void pushes_destroy(struct pushes *pushes);

#endif
