/* SPDX-License-Identifier: MIT */
/*
 * What a recording is compared with: another one, or the median of several, whose noise is then known. A stack that some of
 * them lack has 0 there.
 */
#ifndef ANALYZE_BASE_H
#define ANALYZE_BASE_H

#include "summary.h"

struct base {
	struct summary_stack
		*stacks; /* figures are medians; the rest is that of the first recording with the stack */
	uint64_t (*noise)[FIGURES]; /* by stack */
	uint32_t n, room, room_noise;
	uint64_t totals[FIGURES], total_noise[FIGURES];
	const struct summary *runs; /* the caller's */
	unsigned n_runs;
};

/* n_runs > 0; of the same labels. False: no memory; base_finish() must still be called. */
bool base_make(struct base *base, const struct summary *runs, unsigned n_runs, const struct labels *labels);
void base_finish(struct base *base);

/*
 * A change of a figure counts if it is larger than this: of one recording 0, as its figures are exact; of several the
 * largest of three times the median absolute deviation, 1 % of the median, and for bytes 4 KiB.
 */
uint64_t base_noise(enum figure figure, unsigned n_runs, uint64_t median, uint64_t deviation);

#endif
