/* SPDX-License-Identifier: MIT */
/*
 * How the stacks of a trace's threads grow and shrink: SP changes (changes of the stack pointer) between its records.
 * An observer that has to see each chunk before those that use it; one for all settings that count stacks.
 *
 * Either each SP change was recorded (mst_sp_change), or markers (MST_OP_STACK) say how deep a thread's stack is at a
 * call; then an SP change is the difference to the marker before, 0 at first. Massif counts the sum over all threads,
 * also of those that have ended.
 */
#ifndef ANALYZE_STACK_DEPTH_H
#define ANALYZE_STACK_DEPTH_H

#include "observer.h"

struct stack_depth;

/* Bytes are modulo 2^64: a hostile trace may have any depth. */
struct sp_change {
	uint32_t
		record; /* of the present chunk: the change comes just before it; n_records: behind the last */
	uint64_t instructions; /* executed by then; 0 if not recorded */
	uint64_t grown;        /* bytes, never 0; negative as a signed number: the stack shrank */
};

struct stack_depth *stack_depth_create(void);         /* NULL: no memory */
void stack_depth_destroy(struct stack_depth *depths); /* NULL is allowed */
struct observer *stack_depth_observer(struct stack_depth *depths);

/* The next SP change of the present chunk, in order; zero-initialise the cursor. False: there is none. */
struct sp_cursor {
	size_t next;
	struct mst_sp_cursor changes;
};
bool stack_depth_next(const struct stack_depth *depths, struct sp_cursor *cursor, struct sp_change *step);

#endif
