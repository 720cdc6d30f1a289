/* SPDX-License-Identifier: MIT */
/*
 * Which spans a report is about: the parts of a run that msreport --span asks for, each of them an instance of the same
 * work. A pure function.
 */
#ifndef ANALYZE_SPAN_QUERY_H
#define ANALYZE_SPAN_QUERY_H

#include <stdbool.h>
#include <stdint.h>

enum span_kind {
	SPANS_MARKED,  /* between msrec_span_begin() and msrec_span_end() */
	SPANS_CALLS,   /* calls of a function */
	SPANS_THREADS, /* threads, each as a whole */
	SPANS_WINDOWS, /* parts of the run, of all threads */
};

struct span_query {
	enum span_kind kind;
	const char *text;    /* as it was given; NULL: it was not */
	const char *pattern; /* of fnmatch(3): of spans' names, or of functions; in `text` */
	bool each; /* of calls: another one begins also where the stack of the first event comes again */
	uint64_t period_ns; /* of windows; above 0 */
};

/* Reads the value of --span; false: it is none. `text` must outlive the query. */
bool span_query_parse(struct span_query *query, const char *text);

#endif
