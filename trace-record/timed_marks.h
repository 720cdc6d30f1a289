/* SPDX-License-Identifier: MIT */
/*
 * Marks that msrec sets at times: each lies between the events before its time and those after it. A forked child
 * has its parent's up to the fork.
 */
#ifndef TRACE_RECORD_TIMED_MARKS_H
#define TRACE_RECORD_TIMED_MARKS_H

#include "options.h"

/* Zero-initialised there are none. The items are the options'. */
struct timed_marks {
	const struct timed_mark *items; /* in order of time */
	uint32_t n, set;                /* set <= n: those that are in the trace */
};

/* Adds a mark at its place. False: no memory. */
bool timed_marks_add(struct timed_mark **marks, uint32_t *n, struct timed_mark mark);

#endif
