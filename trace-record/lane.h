/* SPDX-License-Identifier: MIT */
/*
 * The consumer's side of one ring: takes events off it, checks them (the program may have written
 * anything), and keeps the thread's stacks.
 */
#ifndef TRACE_RECORD_LANE_H
#define TRACE_RECORD_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "shm.h"

/* An event as it was in the ring. */
struct lane_event {
	uint8_t op, flags, align_log2;
	uint16_t node;               /* of the stack */
	uint16_t parent;             /* of SHM_OP_NODE */
	uint64_t stamp;              /* that of the last event which had one */
	uint64_t address, size, old; /* size is the value of a mark; address the pc of SHM_OP_NODE */
	uint64_t usable;             /* with SHM_USABLE */
	uint64_t end;                /* where in the ring it does */
};

/* A node of the thread's stacks, as last defined. */
struct lane_node {
	uint32_t frame; /* in the trace; MST_NONE: left out of stacks */
	uint32_t stack; /* in the trace; MST_NONE: not defined, or deeper than wanted and not yet asked for */
	uint16_t parent; /* 0: none */
	uint16_t depth;  /* frames, at most LANE_DEPTH_MOST */
};

#define LANE_DEPTH_MOST UINT16_MAX

#define LANE_WINDOW 64u

struct lane {
	struct shm_ring *ring;
	const uint8_t *data;
	uint32_t size;
	uint32_t use;              /* of the slot, when `thread` was defined */
	uint32_t thread;           /* id in the trace */
	uint64_t tail, head;       /* of the ring, as known here; tail: of what was taken */
	uint64_t read, released;   /* of what was read, and of what the producer may overwrite */
	uint64_t stamp;            /* of the last event read that had one */
	uint64_t null_frees, lost; /* of the ring, as already accounted for */
	uint64_t stack_depth;      /* of the thread, as the last mark told */
	bool broken;               /* something impossible was read: the ring is given up */
	bool told_broken;          /* and that is counted as a loss */

	/* Events read ahead, so that memory that they need can be on its way: [next, end). */
	struct lane_event window[LANE_WINDOW];
	const struct lane_event *next, *end;

	struct lane_node *nodes; /* by number; those that were never defined have depth 0 */
	uint32_t n_nodes;
};

void lane_open(struct lane *lane, struct shm_segment *segment, uint32_t slot);
void lane_finish(struct lane *lane);

/* Reads events ahead into the empty window; false if there are none (or the lane is broken). */
bool lane_read(struct lane *lane);

/* The next event, without taking it; NULL if none has been read. */
static inline const struct lane_event *lane_peek(const struct lane *lane)
{
	return lane->next != lane->end ? lane->next : NULL;
}

/* Takes it. */
static inline void lane_take(struct lane *lane)
{
	lane->tail = lane->next++->end;
}

/* Whether the lane is that of the slot's present thread: another one may have come since it was opened. */
static inline bool lane_is_current(const struct lane *lane)
{
	return lane->ring &&
	       atomic_load_explicit(&lane->ring->state, memory_order_acquire) == SHM_RING_USED &&
	       lane->use == lane->ring->use;
}

/* Looks how far the producer is. */
static inline void lane_look(struct lane *lane)
{
	lane->head = atomic_load_explicit(&lane->ring->head, memory_order_acquire);
}

/* Tells the producer how far we are, and wakes it if it waits for that. */
void lane_release(struct lane *lane);

/* Whether the thread is gone and everything that it wrote has been taken. */
bool lane_done(const struct lane *lane);

/* Room for the node of that number. False: no memory. */
bool lane_reserve(struct lane *lane, uint16_t node);

/* Forgets all nodes: another thread's stacks come now. */
void lane_forget(struct lane *lane);

#endif
