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

/* What was asked for while the program ran; it lies behind the events with that stamp. */
struct asked {
	uint64_t stamp;
	uint8_t op;       /* MST_OP_OFF or MST_OP_ON: a marker; 0: a mark */
	uint8_t size;     /* of the marker */
	const char *name; /* of the mark */
};

#define ASKED_MOST 1024u

/* Zero-initialised there are none. */
struct asked_marks {
	struct asked *items; /* [n] in order of stamps; the names are the list's */
	uint32_t n, capacity;
};

void asked_marks_finish(struct asked_marks *marks);

/* Adds a mark at its place. False: no memory. */
bool timed_marks_add(struct timed_mark **marks, uint32_t *n, struct timed_mark mark);

#endif
