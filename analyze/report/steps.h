/* SPDX-License-Identifier: MIT */
/*
 * Steps: short spans of time in which the live bytes rise or fall by much. Neighbouring buckets that rise (or fall)
 * belong together, up to a twentieth of the run; they are a step if they make up at least a twentieth of the highest
 * level, and stand out of what happens all the time: by eight ordinary changes, the median of what single buckets change.
 * So the noise of a cache that turns over has no steps, nor has a steady rise. Pure functions.
 */
#ifndef ANALYZE_STEPS_H
#define ANALYZE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct step {
	uint32_t first, last; /* buckets: the level before `first` becomes that at the end of `last` */
	int64_t change;
	/* Of a rise: the bucket in which the level was back below a quarter of the rise; UINT32_MAX: it never was. */
	uint32_t back;
};

enum { STEPS_MOST = 32, STEPS_LEVELS = 200 };

/* Finds the largest steps of n (up to STEPS_LEVELS) levels, at most `most`, in order of time; returns their number. */
uint32_t steps_find(const int64_t *levels, uint32_t n, struct step steps[STEPS_MOST], uint32_t most);

#endif
