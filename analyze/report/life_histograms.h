/* SPDX-License-Identifier: MIT */
/*
 * How long blocks lived, as histograms by life (lives.h). They come in batches, and each value goes to another place in
 * memory; so where there is more than one processor, a thread of its own counts while the next batch is filled.
 */
#ifndef ANALYZE_LIFE_HISTOGRAMS_H
#define ANALYZE_LIFE_HISTOGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

/* From a block's allocation to its free: what was allocated meanwhile, and time. */
struct lifetimes {
	struct histogram calls, bytes, time_ns;
};

enum { LIFE_BATCH = 1024 };

struct life_batch {
	uint32_t n;
	struct ended_life {
		uint64_t calls, bytes, time_ns;
		uint32_t life; /* a dense number: memory is taken for all up to it */
	} items[LIFE_BATCH];
};

struct life_histograms;

/* `jobs`: so many threads may work, the caller's included. NULL: no memory. */
struct life_histograms *life_histograms_create(unsigned jobs);
void life_histograms_destroy(struct life_histograms *histograms); /* NULL is allowed */

/* The batch to fill; the caller's until it is counted. */
struct life_batch *life_histograms_batch(struct life_histograms *histograms);

/* Counts the batch, sooner or later; there is another one to fill. False: no memory, or there was none earlier. */
bool life_histograms_count(struct life_histograms *histograms);

/* Counts the batch, and waits until all is counted. False: no memory, or there was none earlier. */
bool life_histograms_finish(struct life_histograms *histograms);

/* After life_histograms_finish(): of a life, in these pages. NULL: of no block is known how long it lived. */
const struct lifetimes *life_histograms_of(const struct life_histograms *histograms, uint32_t life);
const struct histogram_pages *life_histograms_pages(const struct life_histograms *histograms);

#endif
