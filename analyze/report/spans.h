/* SPDX-License-Identifier: MIT */
/*
 * An observer that divides a run into spans, instances of the same work (span_query.h): requests, tasks, queries. It sums
 * up what each span allocates, and what becomes of its blocks. It reads each record, and needs its identity.
 *
 * A thread is in at most one span: of nested ones the outermost counts. A call of a function begins with the thread's
 * first event whose stack has the function, and goes on until its last event before one that shows otherwise: a stack
 * without the function, or with other callers of it. Events that have no stack, as most frees, and stacks without their
 * outer part show nothing. A span of a thread lasts from its first event to its last one; a window is what lies within
 * the time, for all threads.
 *
 * A block belongs to the span in which its thread was when it allocated the block. A realloc frees one and allocates
 * another. A block of no bytes has no bytes. Figures of a sample are estimates (sample_weight.h).
 *
 * Memory: some 150 bytes for each thread and each span that has live blocks, 8 for each live block, and spread.h's.
 */
#ifndef ANALYZE_SPANS_H
#define ANALYZE_SPANS_H

#include "observer.h"
#include "span_calls.h"
#include "span_query.h"
#include "spread.h"

struct spans;

/* What becomes of a block. */
enum span_fate {
	SPAN_WITHIN, /* freed before its span ended, by any thread */
	SPAN_LATER,  /* freed after that, in another span */
	SPAN_AFTER,  /* freed after that, outside of spans */
	SPAN_LEFT,   /* live when the trace ends */
	SPAN_FATES,
};

/* Figures of a span. */
enum span_figure {
	SPAN_TIME, /* from its beginning to its end, in ns */
	SPAN_CALLS,
	SPAN_BYTES, /* allocated */
	SPAN_PEAK,  /* most bytes of its own live at once, before it ended */
	SPAN_FATE,  /* and those behind it: bytes by enum span_fate */
	SPAN_FIGURES = SPAN_FATE + SPAN_FATES,
};

/*
 * `calls`: of SPANS_CALLS, else NULL; both must outlive the observer. `top`: as many rows have the lists of the largest
 * spans at most. `end_ns`: of the run, at which spans end that no mark ends. NULL: no memory.
 */
struct spans *spans_create(const struct span_query *query, const struct span_calls *calls, uint32_t top,
			   uint64_t end_ns);
void spans_destroy(struct spans *spans); /* NULL is allowed */

struct observer *spans_observer(struct spans *spans);

/* ---- After the replay ---- */

/* Which block is freed isn't recorded: then only calls and bytes are known. */
bool spans_lack_identity(const struct spans *spans);

/* The number of spans is its `n`. */
struct spread *spans_spread(struct spans *spans, enum span_figure figure);

struct span_sum {
	uint64_t bytes, blocks;
};

/* All blocks of a fate; *with: spans with bytes of it. */
struct span_sum spans_fate(const struct spans *spans, enum span_fate fate, uint64_t *with);

/* Allocated outside of spans, and of that live when the trace ends. */
struct span_sum spans_outside(const struct spans *spans);
struct span_sum spans_outside_left(const struct spans *spans);

/* What spans allocated at a stack, and what became of it. All is 0 of numbers beyond the last stack. */
struct span_stack {
	struct span_sum fates[SPAN_FATES];
};
struct span_stack spans_stack(const struct spans *spans, uint32_t stack);

struct span_row {
	uint64_t number; /* from 1, in the order in which spans began */
	uint64_t begin_ns;
	uint32_t thread; /* MST_NONE: all */
	uint32_t name;   /* of spans_names(); MST_NONE: it has none */
	uint32_t stack;  /* that allocated most of the span's bytes; in SPAN_LEFT's list, of those left */
	uint64_t figures[SPAN_FIGURES];
};

/*
 * The spans with the most of a figure (SPAN_BYTES, SPAN_PEAK or SPAN_FATE + SPAN_LEFT); *n of the *all that have more than
 * 0 of it.
 */
const struct span_row *spans_largest(const struct spans *spans, enum span_figure figure, uint32_t *n,
				     uint64_t *all);

struct span_name {
	const char *text; /* escaped as printable.h does */
	uint64_t spans, calls;
	uint64_t bytes, later_bytes, left_bytes;
};

/* The functions, or the names of marks; *n of them, some without spans. */
const struct span_name *spans_names(const struct spans *spans, uint32_t *n);

struct span_doubts {
	/* Of SPANS_CALLS: spans in which the stack of the first event came again, and how often it did in all. */
	uint64_t repeated, repeats;
	uint64_t no_begin; /* marks that end a span and match no beginning */
	uint64_t no_end;   /* spans that a mark begins and none ends */
};

struct span_doubts spans_doubts(const struct spans *spans);

#endif
