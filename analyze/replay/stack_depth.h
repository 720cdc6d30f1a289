/* SPDX-License-Identifier: MIT */
/*
 * How the stacks of a trace's threads grow and shrink, as steps that stand before its records. An observer,
 * to be shown each chunk before those that use it; for all settings that count stacks.
 *
 * Either each change of the stack pointer was recorded (mst_sp_change), and is a step, or marks (MST_OP_STACK)
 * tell how deep a thread's stack is at a call; a step is the difference to what it was before, 0 at first.
 * What Massif counts is the sum over all threads, also of those that have ended.
 */
#ifndef ANALYZE_STACK_DEPTH_H
#define ANALYZE_STACK_DEPTH_H

#include "observer.h"

struct depths;

/* All bytes are modulo 2^64: a hostile trace may tell of any depth. */
struct depth_step {
	uint32_t
		record; /* of the present chunk: the step comes just before it; may be that behind the last */
	uint64_t instructions; /* executed by then; 0 if they are not counted */
	uint64_t grown;        /* bytes, never 0; below 0 as a signed number: the stack shrank */
};

struct depths *depths_create(void);         /* NULL: no memory */
void depths_destroy(struct depths *depths); /* NULL is allowed */
struct observer *depths_observer(struct depths *depths);

/* A walk over the steps of the present chunk, in order: start with zeros. False: there are no more. */
struct depths_cursor {
	size_t next;
	struct mst_sp_cursor changes;
};
bool depths_next(const struct depths *depths, struct depths_cursor *cursor, struct depth_step *step);

#endif
