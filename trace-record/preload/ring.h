/* SPDX-License-Identifier: MIT */
/*
 * The producer's side of a thread's ring (shm.h): room for a record, whether it needs a stamp, and
 * publishing it. Only the ring's thread calls these, and never inside one another (a signal handler
 * that comes in between must not; see thread.h, enum inside).
 *
 * Nearly all records are common ones: at most RING_COMMON_WORDS long, with nothing due before them. That
 * nothing is due (no stamp, the end of a lap or of the ring, a wait for room, a loss to be told) is one
 * comparison: t->limit_at is where the first such thing may come.
 */
#ifndef PRELOAD_RING_H
#define PRELOAD_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

#define RING_COMMON_OPERANDS 2u
#define RING_COMMON_WORDS (2u + RING_COMMON_OPERANDS) /* head, stamp, operands */

/* Room for a record of `words`, in one piece; NULL if there is none even after some waiting. */
uint64_t *ring_reserve(struct thread *t, uint32_t words);

/* Whether the record for which there is room must have a stamp; and that. */
bool ring_wants_stamp(struct thread *t);
uint64_t ring_stamp(struct thread *t);

/* The reader can have the record. */
void ring_publish(struct thread *t, uint32_t words);

/* An event could not be told. */
void ring_lose(struct thread *t);

/*
 * The present event has been interrupted, and it isn't known whether it will be gone on with. It has been, when there
 * is another.
 */
void ring_doubt(struct thread *t);
void ring_trust(struct thread *t);

/* Room for a common record; NULL: something is due before it, or may be. */
static inline uint64_t *ring_reserve_quickly(struct thread *t)
{
	const uint32_t epoch = atomic_load_explicit(&the_process.family->epoch, memory_order_relaxed);

	if (__builtin_expect(t->head + RING_COMMON_WORDS * 8 >= t->limit_at || epoch != t->epoch, 0))
		return NULL;
	return (uint64_t *)(t->data + (t->head & (t->size - 1)));
}

static inline void ring_put_words(struct thread *t, uint64_t *w, uint64_t head, unsigned words)
{
	w[0] = head;
	t->head += words * 8;
	/* Everything of the record is in place before the reader can see that it is there. */
	atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
}

/* The same as ring_put() where each record has a stamp. */
void ring_put_stamped(struct thread *t, uint64_t *w, uint64_t head, const uint64_t *operands, unsigned n);

/* Writes and publishes a common record of `n` operands there. */
static inline void ring_put(struct thread *t, uint64_t *w, uint64_t head, const uint64_t *operands,
			    unsigned n)
{
	if (__builtin_expect(the_process.many, 0)) {
		ring_put_stamped(t, w, head, operands, n);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		w[1 + i] = operands[i];
	ring_put_words(t, w, head, 1 + n);
}

/* Tells of an operation on an address and nothing else, if nothing is due before it. */
static inline bool ring_address_quickly(struct thread *t, enum shm_op op, const void *p)
{
	uint64_t *const w = ring_reserve_quickly(t);

	if (__builtin_expect(!w || shm_is_wide((uintptr_t)p), 0))
		return false;
	ring_put(t, w, shm_head((uint8_t)op, 0, (uintptr_t)p), NULL, 0);
	return true;
}

#endif
