/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include "doorbell.h"

#define SLEEPS_MAX 100u /* in a full ring, before an event is dropped; DOORBELL_SLEEP_MS each at most */

/* ---- room ---- */

static inline uint64_t ring_room(const struct producer *r)
{
	RECORDER_ASSERT(r->tail <= r->head && r->head - r->tail <= r->size);
	return r->size - (r->head - r->tail);
}

/* Waits for room, within bounds. */
static bool ring_wait(struct producer *r, uint64_t bytes)
{
	struct shm_ring *ring = r->ring;

	for (unsigned i = 0; i < DOORBELL_SPINS + SLEEPS_MAX; i++) {
		const uint32_t seen = atomic_load(&ring->space);

		r->tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (ring_room(r) >= bytes) {
			r->lossy = false;
			return true;
		}
		if (shm_owner_gone(&the_process.family->collector) ||
		    atomic_load(&the_process.segment->refused)) {
			process_give_up();
			return false;
		}
		if (r->lossy)
			return false;
		if (i < DOORBELL_SPINS)
			cpu_pause();
		else
			doorbell_sleep(the_process.family, ring, r->tail, seen);
	}
	r->lossy = true;
	return false;
}

/* Fills the ring up to its end. */
static void ring_pad(struct producer *r)
{
	const uint64_t at = r->head & (r->size - 1);

	RECORDER_ASSERT(r->head % 8 == 0);
	*(uint64_t *)(r->data + at) = SHM_PAD;
	r->head += r->size - at;
}

uint64_t *ring_reserve(struct producer *r, uint32_t words)
{
	const uint64_t bytes = (uint64_t)words * 8;
	const uint64_t at = r->head & (r->size - 1);
	const uint64_t rest = r->size - at;
	const uint64_t needed = rest < bytes ? rest + bytes : bytes;

	RECORDER_ASSERT(words > 0 && words <= SHM_RECORD_WORDS);
	if (__builtin_expect(ring_room(r) < needed, 0) && !ring_wait(r, needed))
		return NULL;
	if (rest >= bytes)
		return (uint64_t *)(r->data + at);
	ring_pad(r);
	return (uint64_t *)r->data;
}

/*
 * After every wrap. While the reader follows closely the ring is used from its beginning again, so that it stays in the
 * caches. When the reader lags, all of the ring is used, and the reader is woken.
 */
static void ring_end_wrap(struct producer *r)
{
	uint64_t unread;

	r->tail = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
	unread = r->head - r->tail;
	if (unread >= r->size / 4 && atomic_load_explicit(&the_process.family->asleep, memory_order_relaxed))
		doorbell_ring(the_process.family);
	if (unread >= r->wrap || (r->head & (r->size - 1)) < 2 * r->wrap)
		return;
	/* Published with the next record: the reader never finds padding alone. */
	ring_pad(r);
}

/* ---- time ---- */

/*
 * While the process has one thread, the order of events is that of its ring, and stamps say only when. A stamp costs
 * as much as all the rest of a record and lets the CPU overlap nothing. So a thread emits one in a while, and always
 * where events are rare. From the second thread on every event has a stamp; that begins before another thread
 * can see anything that the new thread did.
 */
#define STAMP_BYTES_MIN 256u /* of records without a stamp after one with it; between these bounds ... */
#define STAMP_BYTES_MAX 4096u
#define STAMP_PERIOD                                                                                         \
	(1u << 17) /* ... so many that this (ticks of the clock) passes, or up to four times as much */
#define STAMP_FIRST                                                                                          \
	16u /* events with a stamp after a look of msrec, which follows a pause more closely if it is short */

bool ring_wants_stamp(struct producer *r)
{
	const uint32_t epoch = atomic_load_explicit(&the_process.family->epoch, memory_order_relaxed);

	if (epoch == r->epoch && r->head < r->stamp_due && !the_process.many_rings)
		return false;
	if (epoch != r->epoch) {
		r->epoch = epoch;
		r->stamped = 0;
	}
	if (r->stamped < STAMP_FIRST) {
		r->stamped++;
		r->stamp_due = r->head;
	} else {
		r->stamp_due = r->head + r->stamp_bytes;
	}
	return true;
}

uint64_t ring_stamp(struct producer *r)
{
	const uint64_t now = stamp_now(), passed = now - r->stamp;
	uint32_t bytes = r->stamp_bytes;

	if (passed > 4 * STAMP_PERIOD)
		bytes /= 2;
	else if (passed < STAMP_PERIOD && r->stamp_due > r->head)
		bytes *= 2;
	r->stamp_bytes = bytes < STAMP_BYTES_MIN   ? STAMP_BYTES_MIN
			 : bytes > STAMP_BYTES_MAX ? STAMP_BYTES_MAX
						   : bytes;
	r->stamp = now;
	return now;
}

/* ---- publishing ---- */

/* See struct producer. The ring's end is the end of a wrap, too. */
static uint64_t find_limit(const struct producer *r)
{
	uint64_t end = (r->head | (r->wrap - 1)) + 1;

	RECORDER_ASSERT(r->emitted_losses <= r->losses);
	if (!the_process.options.plain || r->losses != r->emitted_losses)
		return 0;
	if (end > r->tail + r->size)
		end = r->tail + r->size;
	if (end > r->stamp_due && !the_process.many_rings)
		end = r->stamp_due;
	return end;
}

void ring_publish(struct producer *r, uint32_t words)
{
	const uint64_t old = r->head;

	ring_advance(r, words);
	if ((old ^ r->head) & r->wrap)
		ring_end_wrap(r);
	r->limit = find_limit(r);
}

void ring_put_stamped(struct producer *r, uint64_t *w, uint64_t head, const uint64_t *operands, unsigned n)
{
	w[1] = stamp_now();
	ring_put_operands(w + 2, operands, n);
	w[0] = head | (uint64_t)SHM_STAMPED << 8;
	ring_advance(r, 2 + n);
}

/* ---- losses ---- */

static void set_losses(struct producer *r, uint64_t losses)
{
	RECORDER_ASSERT(losses >= r->emitted_losses);
	r->losses = losses;
	r->limit = 0;
	atomic_store_explicit(&r->ring->lost, losses, memory_order_relaxed);
}

void ring_lose(struct producer *r)
{
	set_losses(r, r->losses + 1);
}

void ring_doubt(struct producer *r)
{
	if (!r->doubtful)
		ring_lose(r);
	r->doubtful = true;
}

void ring_trust(struct producer *r)
{
	if (r->doubtful)
		set_losses(r, r->losses - 1);
	r->doubtful = false;
}
