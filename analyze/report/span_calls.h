/* SPDX-License-Identifier: MIT */
/*
 * Which stacks of a trace lie within calls of a function: of several nested ones the outermost counts. What is outside
 * of it, the caller path, tells calls from each other.
 */
#ifndef ANALYZE_SPAN_CALLS_H
#define ANALYZE_SPAN_CALLS_H

#include "call_sites.h"
#include "mstrace.h"

struct span_calls;

/* For a trace that has been read. `calls` must outlive it. NULL: no memory. */
struct span_calls *span_calls_create(const struct mst_reader *reader, struct call_sites *calls,
				     const char *pattern);
void span_calls_destroy(struct span_calls *calls); /* NULL is allowed */

enum span_call_place {
	SPAN_CALL_UNKNOWN, /* no stack, or its outer part is not recorded */
	SPAN_CALL_OUTSIDE,
	SPAN_CALL_INSIDE,
};

struct span_call {
	enum span_call_place place;
	uint32_t caller; /* INSIDE: the stack outside of the function; MST_NONE: not known */
	uint32_t name;   /* INSIDE: the function's number, from 0 */
};

/* Of any number, that of a stack or not. */
struct span_call span_calls_of(const struct span_calls *calls, uint32_t stack);

/* Functions that match, in the order of their numbers; *n of them. Valid as long as the call_sites. */
const char *const *span_calls_names(const struct span_calls *calls, uint32_t *n);

#endif
