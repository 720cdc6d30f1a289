/* SPDX-License-Identifier: MIT */
/*
 * The page's parts of the run: slices (flows.h), of which neighbours are one bucket where little happens, so that there
 * are at most BUCKETS_MOST. And the cells: what each node did in each bucket.
 */
#ifndef ANALYZE_PAGE_BUCKETS_H
#define ANALYZE_PAGE_BUCKETS_H

#include "flows.h"

enum { BUCKETS_MOST = 200 };

struct buckets {
	uint32_t n;
	uint64_t border_ns[BUCKETS_MOST + 1];
	uint8_t flags[BUCKETS_MOST + 1];      /* enum flows_flag */
	uint64_t highest_ns[BUCKETS_MOST];    /* of each one's highest moment */
	uint64_t highest[BUCKETS_MOST];       /* bytes that were live then */
	uint32_t highest_slice[BUCKETS_MOST]; /* in which it is */
	uint16_t of_slices[FLOWS_SLICES];     /* by slice, but for the first one */
};

/* After the replay. */
void buckets_choose(struct buckets *buckets, const struct flows *flows);

/* What nodes did, sorted by node and bucket: struct flow with a node for a stack and a bucket for a slice. */
struct cells {
	struct flow *items; /* NULL: there would be too many */
	size_t n;
	struct flow *initial; /* by node: what was live before the first bucket, as what came; [n_nodes] */
};

/*
 * Adds up the flows by node: of_stacks[stack], below n_nodes. If there are more than `most`, only counts them.
 * Zero-initialise. False: no memory; finish even so.
 */
bool cells_collect(struct cells *cells, const struct flows *flows, const struct buckets *buckets,
		   const uint32_t *of_stacks, uint32_t n_nodes, size_t most);
void cells_finish(struct cells *cells);

#endif
