/* SPDX-License-Identifier: MIT */
/*
 * An observer that measures how long blocks live: DHAT's figures by stack. The clock is the trace's. As in DHAT 3.19 a
 * block stays with the stack that it was first allocated at: a realloc allocates once more there, and the block lives
 * on; a block of no bytes has one; of equal peaks the last one counts. Other than in DHAT, `most_bytes` is a place's own
 * peak, also where that is not the program's.
 *
 * Figures of a sample are estimates (sample_weight.h). There a realloc ends the life of the old block and begins that
 * of the new one, which has the realloc's stack, because the sample may have one of them alone.
 */
#ifndef ANALYZE_LIFETIMES_H
#define ANALYZE_LIFETIMES_H

#include "observer.h"

struct lifetimes;

/* NULL: no memory. */
struct lifetimes *lifetimes_create(void);
void lifetimes_destroy(struct lifetimes *lifetimes); /* NULL is allowed */

/* The observer ends the replay with MST_ERR_IDENTITY if which block is freed isn't recorded. */
struct observer *lifetimes_observer(struct lifetimes *lifetimes);

struct lifetimes_place {
	uint64_t bytes, blocks; /* all allocated */
	uint64_t lifetime_ns;   /* of all blocks together; those still live end with the trace */
	uint64_t most_bytes,
		most_blocks; /* the place's own peak of bytes, the last one, and the blocks then */
	uint64_t peak_bytes, peak_blocks; /* at the peak of bytes of all places together */
	uint64_t end_bytes, end_blocks;
};

/* After the replay: the figures of a stack of the trace. False: the stack has no allocation. */
bool lifetimes_place(const struct lifetimes *lifetimes, uint32_t stack, struct lifetimes_place *place);

/* Times of the peak of live bytes and of the last event, since the program's start. */
uint64_t lifetimes_peak_ns(const struct lifetimes *lifetimes);
uint64_t lifetimes_end_ns(const struct lifetimes *lifetimes);

#endif
