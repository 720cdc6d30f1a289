/* SPDX-License-Identifier: MIT */
/*
 * An observer of one trace among several: what its process allocated itself. The trace of a forked child begins with its
 * parent's history; that is the parent's, and so are the blocks that the child has from it.
 *
 * Figures of a sampled trace are estimates.
 */
#ifndef ANALYZE_OWN_PART_H
#define ANALYZE_OWN_PART_H

#include "levels.h"
#include "observer.h"

struct own_part;

/* Adds the levels of trace number `trace` to `levels`, which must outlive it; NULL: to none. NULL: no memory. */
struct own_part *own_part_create(struct levels *levels, uint32_t trace);
void own_part_destroy(struct own_part *part); /* NULL is allowed */

struct observer *own_part_observer(struct own_part *part);

/* After the replay. Times are since the trace's time 0. */
struct own_figures {
	uint64_t begin_ns, end_ns; /* of the part: from the fork, or the trace's beginning */
	uint64_t peak_bytes, peak_ns;
	uint64_t inherited_bytes; /* live at the fork */
};
struct own_figures own_part_figures(const struct own_part *part);

/* Blocks of one kind: allocated by calls, and live at the end. In a sample those that were recorded. */
struct own_kind {
	uint64_t allocated, live;
};

/* By kind; *n of them. */
const struct own_kind *own_part_kinds(const struct own_part *part, uint32_t *n);

#endif
