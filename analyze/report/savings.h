/* SPDX-License-Identifier: MIT */
/*
 * What section_savings.c reads: the turnover of blocks, and the peaks of a second pass with what they are peaks of.
 * Which sites are left out is found greedily: at the highest of the timeline's points and the peak, the largest site goes
 * next. What the peak is without them is exact.
 */
#ifndef ANALYZE_SAVINGS_H
#define ANALYZE_SAVINGS_H

#include "groups.h"
#include "peak_without.h"

struct report;

enum {
	SAVINGS_LEAST = 65536, /* bytes, copied or of the peak, below which nothing is said */
	SAVINGS_CALLS = 100,   /* calls, likewise */
	SAVINGS_POOL = 1000,   /* calls that a pool saves */
	SAVINGS_PART = 20,     /* the part of the peak that freeing earlier takes off: a twentieth or more */
};

struct savings {
	struct groups groups; /* the largest at the peak first */
	enum group_by by;
	uint32_t *group_of; /* [n_stacks] by stack; MST_NONE: allocates nothing */
	uint32_t n_stacks;
	uint64_t *early; /* by group: bytes that were live at the peak and freed soon after it */
	struct peak_without_query query;
	struct peak_without *without; /* NULL: the trace is a sample, or empty */
};

/* After the first pass: makes report->savings, and an observer for a second one. NULL: none is needed, or no memory. */
struct observer *savings_plan(struct report *report);
void savings_destroy(struct savings *savings); /* NULL is allowed */

#endif
