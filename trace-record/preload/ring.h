/* SPDX-License-Identifier: MIT */
/*
 * The producer's side of a ring (shm.h): finds room for a record, says whether the record needs a stamp, and publishes
 * it. Only the ring's thread calls these functions, and never one inside another: what a signal handler emits
 * goes to a ring of its own (thread_state.h, enum inside).
 *
 * Nearly all records are plain: at most RING_PLAIN_WORDS long, with nothing due before them. What may be due is a stamp,
 * the end of a wrap or of the ring, a wait for room, or a loss. One comparison covers all of these: `limit` is
 * where the first of them may come.
 */
#ifndef PRELOAD_RING_H
#define PRELOAD_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"
#include "recorder_assert.h"
#include "shm.h"

#define RING_PLAIN_OPERANDS 2u
#define RING_PLAIN_WORDS (2u + RING_PLAIN_OPERANDS) /* head, stamp, operands */

/*
 * Positions (head, tail, stamp_due, limit) count bytes since the ring was made; `data` is indexed modulo `size`.
 *   size and wrap are powers of two, wrap <= size / 4; head, tail and all records are multiples of 8 bytes
 *   tail <= head <= tail + size
 *   limit is 0, or at most: the end of the wrap that head is in, tail + size, and stamp_due if records need no stamp
 *   emitted_losses <= losses; where they differ, limit is 0
 */
struct producer {
	struct shm_ring *ring;
	uint8_t *data;
	uint32_t size;
	uint32_t wrap;        /* bytes from one look at the reader to the next */
	uint64_t head;        /* our copy; ring->head is what is published */
	uint64_t tail;        /* ring->tail as last seen */
	uint64_t limit;       /* plain records end before this */
	uint64_t stamp_due;   /* from here on a record needs a stamp */
	uint64_t stamp;       /* the last one */
	uint32_t stamp_bytes; /* from one stamp to the next */
	uint32_t epoch;       /* the family's at the last stamp */
	uint32_t stamped;     /* events with a stamp in this epoch */
	bool lossy;           /* the last event was dropped: don't wait again until there is room */
	bool doubtful;   /* one loss is an event interrupted by others; it counts only if it never goes on */
	uint64_t losses; /* events dropped by threads with this ring */
	uint64_t emitted_losses;
};

/* Room for a record of `words`, in one piece; NULL if there is none even after some waiting. */
uint64_t *ring_reserve(struct producer *r, uint32_t words);

/* Whether the record that ring_reserve() has found room for needs a stamp; and the stamp. */
bool ring_wants_stamp(struct producer *r);
uint64_t ring_stamp(struct producer *r);

/* Publishes the record and does what is due after it. */
void ring_publish(struct producer *r, uint32_t words);

/* Counts an event that could not be emitted. */
void ring_lose(struct producer *r);

/*
 * A signal handler has interrupted the present event: it counts as lost until ring_trust(), called at the next event, which
 * shows that it went on.
 */
void ring_doubt(struct producer *r);
void ring_trust(struct producer *r);

/* ---- one record ---- */

/* Puts up to two operands at `w`; returns the word behind them. */
static inline uint64_t *ring_put_operands(uint64_t *w, const uint64_t *operands, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		w[i] = operands[i];
	return w + n;
}

/* Makes a record of `words` visible. All of its words are in place before the reader can see the new head. */
static inline void ring_advance(struct producer *r, unsigned words)
{
	RECORDER_ASSERT(words > 0 && words <= SHM_RECORD_WORDS);
	r->head += words * 8;
	atomic_store_explicit(&r->ring->head, r->head, memory_order_release);
}

/* ---- plain records ---- */

/* Room for a plain record; NULL: something is due before it, or may be. */
static inline uint64_t *ring_reserve_plain(struct producer *r)
{
	const uint32_t epoch = atomic_load_explicit(&the_process.family->epoch, memory_order_relaxed);

	if (__builtin_expect(r->head + RING_PLAIN_WORDS * 8 >= r->limit || epoch != r->epoch, 0))
		return NULL;
	RECORDER_ASSERT(r->head + RING_PLAIN_WORDS * 8 <= r->tail + r->size);
	RECORDER_ASSERT((r->head & (r->size - 1)) + RING_PLAIN_WORDS * 8 <= r->size);
	return (uint64_t *)(r->data + (r->head & (r->size - 1)));
}

/* ring_put() where each record has a stamp. */
void ring_put_stamped(struct producer *r, uint64_t *w, uint64_t head, const uint64_t *operands, unsigned n);

/* Writes and publishes a plain record of `n` operands at `w`. */
static inline void ring_put(struct producer *r, uint64_t *w, uint64_t head, const uint64_t *operands,
			    unsigned n)
{
	if (__builtin_expect(the_process.many_rings, 0)) {
		ring_put_stamped(r, w, head, operands, n);
		return;
	}
	ring_put_operands(w + 1, operands, n);
	w[0] = head;
	ring_advance(r, 1 + n);
}

#endif
