/* SPDX-License-Identifier: MIT */
/*
 * The consumer's side of one ring: takes events off it, checks them (the program may have written
 * anything), and keeps the thread's stacks and the block that its realloc has been given.
 */
#ifndef TRACE_RECORD_CONSUMER_H
#define TRACE_RECORD_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks.h"
#include "shm.h"

/* An event as it was in the ring. */
struct consumer_event {
	uint8_t op, flags, align_log2;
	uint16_t node;               /* of the stack */
	uint16_t parent;             /* of SHM_OP_NODE */
	uint64_t stamp;              /* that of the last event which had one */
	uint64_t address, size, old; /* size is the value of a mark; address the pc of SHM_OP_NODE */
	uint64_t usable;             /* with SHM_USABLE */
	uint64_t end;                /* where in the ring it does */
};

/* A node of the thread's stacks, as last defined. */
struct consumer_node {
	uint32_t frame; /* in the trace; MST_NONE: left out of stacks */
	uint32_t stack; /* in the trace; MST_NONE: not defined, or deeper than wanted and not yet asked for */
	uint16_t parent; /* 0: none */
	uint16_t depth;  /* frames, at most CONSUMER_DEPTH_MOST */
};

#define CONSUMER_DEPTH_MOST UINT16_MAX

#define CONSUMER_RELEASE_BYTES (64u << 10) /* the producer is told at least so often how far we are */

struct consumer {
	struct shm_ring *ring;
	const uint8_t *data;
	uint32_t size;
	uint32_t use;              /* of the slot, when `thread` was defined */
	uint32_t thread;           /* id in the trace */
	uint64_t tail, head;       /* of the ring, as known here; tail: of what was taken */
	uint64_t released;         /* what the producer may overwrite */
	uint64_t stamp;            /* of the last event read that had one */
	uint64_t null_frees, lost; /* of the ring, as already accounted for */
	uint64_t null_frees_seen;  /* of the ring, to be accounted for when all events ... */
	uint64_t null_frees_at;    /* ... before this place have been taken */
	uint64_t stack_depth;      /* of the thread, as the last mark told */
	struct block moving;       /* given to a realloc that hasn't told yet what became of it ... */
	uint64_t moving_address;   /* ... and where it was; 0: there is none */
	bool broken;               /* something impossible was read: the ring is given up */
	bool told_broken;          /* and that is counted as a loss */

	struct consumer_event event; /* the next one ... */
	bool peeked;                 /* ... if it was read already */

	struct consumer_node *nodes; /* by number; those that were never defined have depth 0 */
	uint32_t n_nodes;
};

/* The program may write there at any time: what is checked and what is used are one read. */
static inline uint64_t consumer_read_head(const uint64_t *word)
{
	return *(const volatile uint64_t *)word;
}

void consumer_open(struct consumer *consumer, struct shm_segment *segment, uint32_t slot);
void consumer_finish(struct consumer *consumer);

/* Reads the next event; NULL if there is none (or the lane is broken). */
const struct consumer_event *consumer_read(struct consumer *consumer);

/* The next event, without taking it; NULL if there is none. */
static inline const struct consumer_event *consumer_peek(struct consumer *consumer)
{
	if (consumer->peeked)
		return &consumer->event;
	return consumer->tail != consumer->head ? consumer_read(consumer) : NULL;
}

/* Takes it: it has been peeked at. */
static inline void consumer_take(struct consumer *consumer)
{
	consumer->tail = consumer->event.end;
	consumer->peeked = false;
}

/* Looks how far the producer is. What it has called before that, it had called before any event behind. */
static inline void consumer_look(struct consumer *consumer)
{
	const bool awaits = consumer->null_frees_seen != consumer->null_frees;

	if (!awaits)
		consumer->null_frees_seen =
			atomic_load_explicit(&consumer->ring->null_frees, memory_order_acquire);
	consumer->head = atomic_load_explicit(&consumer->ring->head, memory_order_acquire);
	if (!awaits)
		consumer->null_frees_at = consumer->head;
}

/* Tells the producer how far we are, and wakes it if it waits for that. */
void consumer_release(struct consumer *consumer);

/* Whether the thread is gone and everything that it wrote has been taken. */
bool consumer_done(const struct consumer *consumer);

/* Room for the node of that number. False: no memory. */
bool consumer_reserve(struct consumer *consumer, uint16_t node);

/* Forgets all nodes: another thread's stacks come now. */
void consumer_forget(struct consumer *consumer);

#endif
