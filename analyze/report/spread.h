/* SPDX-License-Identifier: MIT */
/*
 * How a figure is distributed. Up to SPREAD_EXACT values are kept as they are; of more the quantiles are those of a
 * histogram. The sum and the largest value are exact in any case.
 */
#ifndef ANALYZE_SPREAD_H
#define ANALYZE_SPREAD_H

#include "histogram.h"

enum { SPREAD_EXACT = 1 << 17 };

/* Invariant: values != NULL, or n is 0 or above SPREAD_EXACT. Zero-initialised is empty. */
struct spread {
	uint64_t n, sum, most;
	uint64_t *values; /* [n]; NULL: they are in the histogram */
	uint32_t room;
	bool sorted;
	struct histogram histogram;
	struct histogram_pages pages;
};

void spread_finish(struct spread *spread);

/* False: no memory. */
bool spread_add(struct spread *spread, uint64_t value);

/* The smallest value that `share` of all, 0 to 1, are at or below: the median for .5. Of an empty one: 0. */
uint64_t spread_quantile(struct spread *spread, double share);

static inline bool spread_is_exact(const struct spread *spread)
{
	return spread->n <= SPREAD_EXACT;
}

#endif
