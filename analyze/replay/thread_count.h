/* SPDX-License-Identifier: MIT */
/*
 * How many threads of the program a trace has so far. Markers, and blocks from before the recording, have threads of their
 * own, whose tid is 0.
 */
#ifndef ANALYZE_THREAD_COUNT_H
#define ANALYZE_THREAD_COUNT_H

#include <stdint.h>

struct mst_reader;

/* Those that have a tid. At least 1, as every program has a thread, and imported traces do not tell them apart. */
uint32_t thread_count(const struct mst_reader *reader);

#endif
