/* SPDX-License-Identifier: MIT */
/*
 * An observer that says what came and what went, of each stack in each slice of time, and how much of each stack was
 * live at the slice's highest moment. Slices are the equal parts of the run, cut further at the peak, where threads
 * start, and at marks (the exit handlers are done, a fork). Beside it: the whole program's levels as a series of points,
 * and the blocks that cross slices (crossings.h).
 *
 * Memory is bounded: when the log of changes gets too long, neighbouring slices are merged; cuts that are no equal
 * parts stay. Figures of a sampled trace are estimates; blocks are in units of flows_block().
 */
#ifndef ANALYZE_PAGE_FLOWS_H
#define ANALYZE_PAGE_FLOWS_H

#include "crossings.h"
#include "landmarks.h"
#include "observer.h"

struct flows;

enum {
	FLOWS_PARTS = 200,  /* equal ones */
	FLOWS_SPANS = 800,  /* of the series of points */
	FLOWS_THREADS = 32, /* starts that are borders */
	FLOWS_MARKS = 16,
	FLOWS_SLICES = 1 + FLOWS_PARTS + 1 + FLOWS_THREADS + FLOWS_MARKS,
	FLOWS_POINTS = 2 * FLOWS_SPANS + 1,
};

enum flows_flag { FLOWS_PEAK = 1, FLOWS_MARK = 2, FLOWS_THREAD = 4 };

/* What is known before the replay. */
struct flows_query {
	uint64_t begin_ns, end_ns;
	bool has_peak;
	uint64_t peak_bytes;  /* the most that were live ... */
	uint64_t peak_record; /* ... first in the chunk that begins with this record */
};

/* NULL: no memory. */
struct flows *flows_create(const struct flows_query *query);
void flows_destroy(struct flows *flows); /* NULL is allowed */

struct observer *flows_observer(struct flows *flows);

/* After the replay. The first slice is the initial state, which takes no time; it is empty without one. */
struct flows_slice {
	uint64_t begin_ns;
	uint64_t highest_ns; /* of its highest moment */
	uint64_t highest;    /* bytes that were live then */
	uint64_t moved;      /* bytes that came and went */
	uint8_t flags;       /* of its beginning: enum flows_flag */
};
const struct flows_slice *flows_slices(const struct flows *flows, uint32_t *n);

/* Where the last slice ends. */
uint64_t flows_end_ns(const struct flows *flows);

/* What one stack did in one slice. Numbers may wrap in a hostile trace. */
struct flow {
	uint32_t slice, stack;
	uint64_t came_bytes, came_blocks, went_bytes, went_blocks;
	uint64_t high_bytes, high_blocks; /* from the slice's begin to its highest moment: came less went */
};

/* Walks all flows in the order of slices; zero-initialise. False: there are no more. */
struct flows_cursor {
	size_t at;
	uint32_t slice;
};
bool flows_next(const struct flows *flows, struct flows_cursor *cursor, struct flow *flow);

struct flows_point {
	uint64_t time_ns;
	uint64_t bytes, blocks; /* live */
	uint64_t calls;         /* that gave a block, so far; in units of flows_block() */
};
const struct flows_point *flows_points(const struct flows *flows, uint32_t *n);

const struct landmarks *flows_landmarks(const struct flows *flows);

/* One block, in the units of blocks and calls: 1, or of a sampled trace more. */
uint64_t flows_block(const struct flows *flows);

/* The cells' slices are not those above but those before the merges; flows_slice_of() says where they went. */
struct crossings *flows_crossings(struct flows *flows);
uint32_t flows_slice_of(const struct flows *flows, uint32_t crossings_slice);

/* Which block a free gives back isn't recorded, so there are no crossings. */
bool flows_lack_identity(const struct flows *flows);

#endif
