/* SPDX-License-Identifier: MIT */
/*
 * Turns the program's stamps into nanoseconds since the start of the recording. Every round of the collector samples stamp and
 * time together. A stamp between the last two samples is placed on the line between them, so no rate has to be known or
 * constant. An older stamp, of a process that could not be drained for a while, is placed on the line from the start.
 */
#ifndef TRACE_RECORD_CLOCK_H
#define TRACE_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock {
	bool use_tsc;
	uint64_t start_ns;        /* CLOCK_MONOTONIC at the start */
	uint64_t stamp[2], ns[2]; /* the last two samples; ns since the start */
	uint64_t scale;           /* ns a stamp between them, times 2^32 */
	uint64_t first;           /* the stamp at the start */
	uint64_t mean;            /* ns a stamp from then to the first of the two samples, times 2^32 */
};

/* Whether the time-stamp counter runs at one rate on all CPUs. */
bool clock_tsc_usable(void);

void clock_start(struct clock *clock, bool use_tsc);

/* Takes a sample and returns its stamp. */
uint64_t clock_sample(struct clock *clock);

/* The time of a stamp, at most that of the last sample. */
uint64_t clock_ns(const struct clock *clock, uint64_t stamp);

/* The first stamp at or behind a time, at most that of the last sample. */
uint64_t clock_stamp(const struct clock *clock, uint64_t ns);

#endif
