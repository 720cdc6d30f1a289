/* SPDX-License-Identifier: MIT */
/*
 * What the timeline shows beside levels: when threads made their first and their last call, and marks, which are moments
 * with names (the exit handlers are done, a fork). Calls of the initial state don't count.
 */
#ifndef ANALYZE_LANDMARKS_H
#define ANALYZE_LANDMARKS_H

#include "mstrace.h"

enum { LANDMARKS_MARKS = 500 }; /* that are kept, the first ones */

struct landmark_thread {
	bool called;
	uint64_t first_ns, last_ns; /* with `called` */
};

struct landmark {
	uint64_t time_ns;
	uint32_t kind; /* of its marker */
};

/* Zero-initialised is empty. */
struct landmarks {
	struct landmark_thread *threads; /* by thread of the trace, below room_threads */
	uint32_t room_threads;
	uint32_t n_called;
	struct landmark *marks;
	uint32_t room_marks;
	uint64_t n_marks; /* in all */
};

void landmarks_finish(struct landmarks *landmarks);

/* A thread makes calls, the first and the last at these times. *first says whether it made none before. False: no memory. */
bool landmarks_add_calls(struct landmarks *landmarks, uint32_t thread, uint64_t first_ns, uint64_t last_ns,
			 bool *first);

/* False: no memory. */
bool landmarks_add_mark(struct landmarks *landmarks, uint64_t time_ns, uint32_t kind);

/* How many marks are kept. */
uint32_t landmarks_kept(const struct landmarks *landmarks);

/* Whether records of a kind are marks; and what the mark is called. */
bool landmark_is_mark(const struct mst_kind *kind);
const char *landmark_name(const struct mst_kind *kind);

#endif
