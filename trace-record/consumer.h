/* SPDX-License-Identifier: MIT */
/*
 * msrec's side of one ring: takes events off it and keeps the thread's state: its stacks, and the block that its realloc has
 * been given. The program may have written anything into the ring: each record is checked.
 */
#ifndef TRACE_RECORD_CONSUMER_H
#define TRACE_RECORD_CONSUMER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "blocks.h"
#include "shm.h"

/* An event as it was in the ring. */
struct consumer_event {
	uint8_t op, flags, align_log2;
	uint32_t node;               /* of the stack */
	uint32_t parent;             /* of SHM_OP_NODE */
	uint64_t stamp;              /* of the last event that had one */
	uint64_t address, size, old; /* size is a marker's value; address is the pc of SHM_OP_NODE */
	uint64_t usable;             /* with SHM_USABLE */
	uint64_t end;                /* position in the ring behind it */
};

#define CONSUMER_DEPTH_MOST UINT16_MAX

/* A node of the thread's stacks, as last defined. */
struct consumer_node {
	uint32_t frame;  /* in the trace; MST_NONE: left out of stacks */
	uint32_t stack;  /* in the trace; MST_NONE: not defined, or deeper than wanted and not yet needed */
	uint32_t parent; /* 0: none */
	uint16_t depth;  /* frames, at most CONSUMER_DEPTH_MOST; 0: the node was never defined */
	bool cut;        /* outermost, but not of the whole stack */
	uint32_t call;   /* the last plain call, see consumer_call(); 0: none */
	uint32_t kind;   /* its kind */
};

/* A plain call below a node: operation and size. Never 0. */
static inline uint32_t consumer_call(uint8_t op, uint32_t size)
{
	assert(op && size >> 24 == 0);
	return (uint32_t)op << 24 | size;
}

/* The node has no stack, or another one, in the trace. */
static inline void consumer_set_stack(struct consumer_node *node, uint32_t stack)
{
	node->stack = stack;
	node->call = 0;
}

#define CONSUMER_RELEASE_BYTES (64u << 10) /* at least so often the producer learns how far the consumer is */

/* A block given to a realloc whose event has not come yet. */
struct consumer_moving {
	struct block block;
	uint64_t address; /* where it was; 0: there is none */
};

/* The name of a mark whose last part has not come yet. */
struct consumer_mark {
	uint32_t n; /* bytes */
	char name[SHM_MARK_MOST + 1];
};

/* Calls of free(NULL), which the ring only counts. */
struct consumer_null_frees {
	uint64_t counted; /* in the trace; seen - counted are due ... */
	uint64_t seen;    /* ... as the ring had it ... */
	uint64_t at;      /* ... when all events before this position have been taken */
};

/* The thread that has the ring. */
struct consumer_thread {
	uint32_t id;               /* in the trace */
	uint32_t use;              /* of the ring, when `id` was defined */
	uint32_t within;           /* the ring's, for that use: the next owner may be setting the ring up */
	bool gone;                 /* at the last look: `head` is final */
	bool ended;                /* the trace says that it has ended */
	uint64_t stack_depth;      /* by its last marker */
	char name[SHM_NAME_BYTES]; /* "": not known */
};

/*
 * Positions count the ring's bytes from its beginning: released <= tail, and tail <= head unless the program has written
 * nonsense, which makes the ring `broken`. Nothing is read from a broken ring any more.
 */
struct consumer {
	struct shm_ring *ring; /* NULL: not in use yet */
	const uint8_t *data;
	uint32_t size;       /* of `data`, a power of two */
	uint64_t released;   /* as the producer knows: it may overwrite what is before */
	uint64_t tail;       /* of the events that were taken */
	uint64_t head;       /* of the producer, at the last look */
	bool broken;         /* a record that cannot be was read */
	bool broken_counted; /* as a loss */
	bool peeked;         /* `event` is the event at `tail` */
	uint64_t stamp;      /* of the last event read that had one */
	uint64_t lost;       /* of the ring, as far as counted */
	struct consumer_thread thread;
	struct consumer_null_frees null_frees;
	struct consumer_moving moving;
	struct consumer_event event;
	struct consumer_node *nodes; /* by number */
	uint32_t n_nodes;
	struct consumer_mark mark;
};

/* The program may write there at any time: what is checked and what is used are one read. */
static inline uint64_t consumer_read_head(const uint64_t *word)
{
	return *(const volatile uint64_t *)word;
}

void consumer_open(struct consumer *consumer, struct shm_segment *segment, uint32_t ring_id);
void consumer_finish(struct consumer *consumer);

/* Reads the next event; NULL if there is none or the ring is broken. */
const struct consumer_event *consumer_read(struct consumer *consumer);

/* The next event, which stays in the ring; NULL if there is none. */
static inline const struct consumer_event *consumer_peek(struct consumer *consumer)
{
	if (consumer->peeked)
		return &consumer->event;
	return consumer->tail != consumer->head ? consumer_read(consumer) : NULL;
}

/* Takes the event that consumer_peek() gave. */
static inline void consumer_take(struct consumer *consumer)
{
	assert(consumer->peeked);
	consumer->tail = consumer->event.end;
	consumer->peeked = false;
}

/*
 * Looks how far the producer is. The null frees are read before the head: those seen here were called before any event behind
 * the head. So is whether the thread is gone.
 */
static inline void consumer_look(struct consumer *consumer)
{
	struct consumer_null_frees *const null_frees = &consumer->null_frees;
	const bool due = null_frees->seen != null_frees->counted;

	consumer->thread.gone = shm_owner_gone(&consumer->ring->owner);
	if (!due)
		null_frees->seen = atomic_load_explicit(&consumer->ring->null_frees, memory_order_acquire);
	consumer->head = atomic_load_explicit(&consumer->ring->head, memory_order_acquire);
	if (!due)
		null_frees->at = consumer->head;
}

/* Lets the producer overwrite what was taken, and wakes it if it waits for that. */
void consumer_release(struct consumer *consumer);

/* Whether the thread is gone and all of its events have been taken. */
bool consumer_done(const struct consumer *consumer);

/* Makes room for a node. False: no memory. */
bool consumer_reserve(struct consumer *consumer, uint32_t node);

/* Forgets all nodes: the ring is another thread's now. */
void consumer_forget(struct consumer *consumer);

#endif
