/* SPDX-License-Identifier: MIT */
/*
 * The consumer's side of one ring: takes events off it, checks them (the program may have written
 * anything), and keeps the thread's present stack.
 */
#ifndef TRACE_RECORD_LANE_H
#define TRACE_RECORD_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "shm.h"

/* An event as it stands in the ring; pointers go into shared memory. */
struct lane_event {
	uint8_t op, flags, align_log2;
	uint64_t stamp;
	uint64_t address, size, old; /* size is the value of a mark */
	uint64_t usable;             /* with SHM_USABLE */
	uint32_t from, sent;
	const uint64_t *frames;
	uint64_t bytes; /* what it takes in the ring, padding before it included */
};

struct lane {
	struct shm_ring *ring;
	const uint8_t *data;
	uint32_t size;
	uint32_t use;              /* of the slot, when `thread` was defined */
	uint32_t thread;           /* id in the trace */
	uint64_t tail, head;       /* of the ring, as known here */
	uint64_t null_frees, lost; /* of the ring, as already accounted for */
	bool broken;               /* something impossible was read: the ring is given up */
	bool told_broken;          /* and that is counted as a loss */

	/* The stack: stacks[i] is the trace's stack of pcs[base..i]. */
	uint64_t *pcs;
	uint32_t *frames, *stacks;
	uint32_t n, base, capacity;
	uint32_t deep_stack; /* of the innermost frames, when there are more than wanted */
	bool deep_known;
};

void lane_open(struct lane *lane, struct shm_segment *segment, uint32_t slot);
void lane_finish(struct lane *lane);

/* The next event, without taking it; false if there is none (or the lane is broken). */
bool lane_peek(struct lane *lane, struct lane_event *event);
/* Takes it. */
void lane_take(struct lane *lane, const struct lane_event *event);

/* Looks how far the producer is. */
static inline void lane_look(struct lane *lane)
{
	lane->head = atomic_load_explicit(&lane->ring->head, memory_order_acquire);
}

/* Tells the producer how far we are, and wakes it if it waits for that. */
void lane_release(struct lane *lane);

/* Whether the thread is gone and everything that it wrote has been taken. */
bool lane_done(const struct lane *lane);

/* Room for a stack of `n` frames. False: no memory. */
bool lane_reserve(struct lane *lane, uint32_t n);

#endif
