/* SPDX-License-Identifier: MIT */
/*
 * An observer that knows, at each chunk's end, what is live by stack and by thread, what was allocated so far, and how
 * that was a while ago. While the trace has one thread, chunks are accounted by their sums.
 *
 * Memory is in proportion to the stacks that allocate, TOP_MOMENTS + 1 times, and to the live blocks of a program with
 * threads. Figures of a sample are estimates (sample_weight.h). Numbers are unsigned and may wrap: a hostile trace may
 * free more than it allocates.
 */
#ifndef ANALYZE_TOP_COUNTS_H
#define ANALYZE_TOP_COUNTS_H

#include "observer.h"

enum { TOP_MOMENTS = 10 };

struct top_figures {
	uint64_t live_bytes, live_shares; /* shares: of blocks, as sample_weight.h has them */
	uint64_t bytes, shares;           /* allocated so far */
};

/* The figures at one time, by index. Those of an index from `n_...` on were 0. */
struct top_moment {
	uint64_t time_ns;
	struct top_figures total;
	struct top_figures *stacks, *threads;
	uint32_t n_stacks, n_threads;
	uint32_t room_stacks, room_threads;
};

struct top_counts;

/* Remembers moments up to `window_ns` before the present one. NULL: no memory. */
struct top_counts *top_counts_create(uint64_t window_ns);
void top_counts_destroy(struct top_counts *counts); /* NULL is allowed */

struct observer *top_counts_observer(struct top_counts *counts);

/* The observer needs no more chunks. */
void top_counts_stop(struct top_counts *counts);

/* Time passes without events: it is `now_ns`, unless it was later already. False: no memory. */
bool top_counts_pass(struct top_counts *counts, uint64_t now_ns);

/* The present figures; by index they are valid until the next chunk. */
const struct top_moment *top_counts_now(const struct top_counts *counts);
uint32_t top_counts_stack(const struct top_counts *counts, uint32_t index); /* of the trace */

/* The last moment at least `span_ns` ago; if there is none, the first one that is remembered. */
const struct top_moment *top_counts_before(const struct top_counts *counts, uint64_t span_ns);

struct top_peak {
	uint64_t bytes, time_ns;
};
struct top_peak top_counts_peak(const struct top_counts *counts);

/* Calls so far, free(NULL) among them. */
uint64_t top_counts_events(const struct top_counts *counts);

/* By thread: blocks that it freed. */
uint64_t top_counts_frees(const struct top_counts *counts, uint32_t thread);

/* Whether the trace lacks which block each free gives back: all live blocks count as the first thread's. */
bool top_counts_lack_threads(const struct top_counts *counts);

#endif
