/* SPDX-License-Identifier: MIT */
/*
 * An observer of one trace among several: what its process allocated itself. The trace of a forked child begins with its
 * parent's history; that is the parent's, and so are the blocks that the child has from it.
 *
 * Figures of a sampled trace are estimates.
 */
#ifndef ANALYZE_OWN_PART_H
#define ANALYZE_OWN_PART_H

#include "block_filter.h"
#include "levels.h"
#include "observer.h"

struct own_part;

/* What is observed. `levels` and `filter` outlive the part. */
struct own_part_query {
	struct levels *levels;       /* to which those of the part are added; NULL: to none */
	uint32_t trace;              /* its number in `levels` */
	struct block_filter *filter; /* of the trace, with the same `before_ns`; NULL: all blocks */
	uint64_t before_ns;          /* as block_filter_scan has it; matters with a filter */
	bool only_begin;             /* no more is wanted than when the part begins */
};

/* NULL: no memory. */
struct own_part *own_part_create(const struct own_part_query *query);
void own_part_destroy(struct own_part *part); /* NULL is allowed */

struct observer *own_part_observer(struct own_part *part);

/* After the replay. Times are since the trace's time 0. */
struct own_figures {
	uint64_t begin_ns, end_ns; /* of the part: from the fork, or the trace's beginning */
	uint64_t peak_bytes, peak_ns;
	uint64_t inherited_bytes; /* live at the fork */
	/* With a filter: all that was allocated, also what doesn't pass. */
	struct block_filter_count all;
};
struct own_figures own_part_figures(const struct own_part *part);

/* Blocks of one kind: allocated by calls, and live at the end. In a sample those that were recorded. */
struct own_kind {
	uint64_t allocated, live;
};

/* By kind; *n of them. */
const struct own_kind *own_part_kinds(const struct own_part *part, uint32_t *n);

#endif
