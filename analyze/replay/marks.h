/* SPDX-License-Identifier: MIT */
/*
 * The marks of a trace as points in time that a user names: "ready" is the first mark of that name, "ready#2" the second
 * one, unless a mark is called just so.
 */
#ifndef ANALYZE_MARKS_H
#define ANALYZE_MARKS_H

#include <stdbool.h>

#include "mstrace.h"

/* Where a mark lies. */
struct mark_place {
	uint64_t record;  /* before the first call that has no record before this one ... */
	uint64_t allocs;  /* ... where so many blocks had been allocated */
	uint64_t time_ns; /* since time 0 */
};

/* What a mark is: a border of a span of its thread (FORMAT.md), or neither. */
enum mark_role { MARK_POINT, MARK_SPAN_BEGIN, MARK_SPAN_END };
enum mark_role mark_role(const struct mst_mark *mark);

/* The name of a span that a mark begins. */
const char *mark_span_name(const struct mst_mark *mark);

enum marks_result { MARKS_FOUND, MARKS_NOT_FOUND, MARKS_NO_MEMORY };

/*
 * Finds the mark of a name in the trace of a reader that has delivered nothing, and of which nothing else is to be
 * read. A name may also be given as it is printed. MARKS_NOT_FOUND: *known lists the names there are, for a message, to
 * be freed; "" if there are none. A damaged trace has the marks before its damage.
 */
enum marks_result marks_find(struct mst_reader *reader, const char *name, struct mark_place *place,
			     char **known);

/* Which mark of its name mark `i` is, from 1 on. */
uint32_t marks_ordinal(const struct mst_mark *marks, uint32_t i);

#endif
