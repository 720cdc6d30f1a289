/* SPDX-License-Identifier: MIT */
/*
 * What several traces had live as time went by, on one clock, and the most that they had together. Exact as long as all
 * moments fit; else moments are merged, and `step_ns` says how coarse time has become.
 */
#ifndef ANALYZE_LEVELS_H
#define ANALYZE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one trace, from this moment to its next one. */
struct level {
	uint64_t time_ns;
	uint64_t most, last; /* bytes: the most at the moment, and after it */
	uint32_t trace;
};

/* Zero-initialise. The levels of a trace stand together, in the order of time. */
struct levels {
	struct level *items;
	size_t n, room;
	uint64_t step_ns; /* 0: exact; else moments within one such step are one */
};

void levels_finish(struct levels *levels);

/* Notes that a trace has so many bytes live from now on. `from`: its first level's index. False: no memory. */
bool levels_add(struct levels *levels, size_t *from, uint32_t trace, uint64_t time_ns, uint64_t bytes);

/*
 * The first moment at which the traces together have most, when the events of one moment come trace by trace. `then`
 * becomes what each of the n_traces traces has live then. Returns their sum. Changes the order of the levels.
 */
uint64_t levels_peak(struct levels *levels, uint64_t *then, uint32_t n_traces, uint64_t *time_ns);

#endif
