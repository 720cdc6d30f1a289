/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include "doorbell.h"
#include "shm.h"

/* ---- room ---- */

static inline uint64_t ring_room(struct thread *t)
{
	return t->size - (t->head - t->tail);
}

/* Waits for room, within bounds. */
static bool ring_wait(struct thread *t, uint64_t bytes)
{
	struct shm_ring *ring = t->ring;

	for (unsigned i = 0; i < DOORBELL_SPINS + THREAD_WAITS; i++) {
		const uint32_t seen = atomic_load(&ring->space);

		t->tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (ring_room(t) >= bytes) {
			t->lossy = false;
			return true;
		}
		if (shm_owner_gone(&the_process.family->collector) ||
		    atomic_load(&the_process.segment->refused)) {
			thread_give_up();
			return false;
		}
		if (t->lossy)
			return false;
		if (i < DOORBELL_SPINS) {
			_mm_pause();
			continue;
		}
		doorbell_sleep(the_process.family, ring, t->tail, seen);
	}
	t->lossy = true;
	return false;
}

uint64_t *ring_reserve(struct thread *t, uint32_t words)
{
	const uint64_t bytes = (uint64_t)words * 8;
	const uint64_t at = t->head & (t->size - 1);
	const uint64_t rest = t->size - at;
	const uint64_t needed = rest < bytes ? rest + bytes : bytes;

	if (__builtin_expect(ring_room(t) < needed, 0) && !ring_wait(t, needed))
		return NULL;
	if (rest >= bytes)
		return (uint64_t *)(t->data + at);
	*(uint64_t *)(t->data + at) = SHM_PAD;
	t->head += rest;
	return (uint64_t *)t->data;
}

/*
 * After every lap of the ring. While the reader follows closely the ring is used from its beginning
 * again, so that it stays in the caches; when it doesn't, all of it is used, and the reader is woken.
 */
static void ring_turn(struct thread *t)
{
	const uint64_t at = t->head & (t->size - 1);
	uint64_t unread;

	t->tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
	unread = t->head - t->tail;
	if (unread >= t->size / 4 && atomic_load_explicit(&the_process.family->asleep, memory_order_relaxed))
		doorbell_ring(the_process.family);
	if (unread >= t->wrap || at < 2 * t->wrap)
		return;
	/* Published with the next record: the reader never finds padding alone. */
	*(uint64_t *)(t->data + at) = SHM_PAD;
	t->head += t->size - at;
}

/* ---- time ---- */

/*
 * While the process has one thread the order of events is that of its ring, and stamps, which cost as
 * much as all the rest and let the CPU overlap nothing, only say when: so often that time is known well,
 * and always where events are rare. From the second thread on every event has one, which another thread
 * sees before it can see anything that the new one did.
 */
#define STAMP_BYTES_MIN 256u /* of records that follow without one ... */
#define STAMP_BYTES_MAX 4096u
#define STAMP_TICKS (1u << 17) /* ... so many that about this passes, or up to four times as much */
#define STAMP_FIRST 16u /* after a look of msrec, which follows a pause more closely the shorter it is */

bool ring_wants_stamp(struct thread *t)
{
	const uint32_t epoch = atomic_load_explicit(&the_process.family->epoch, memory_order_relaxed);

	if (epoch == t->epoch && t->head < t->stamp_due && !the_process.many)
		return false;
	if (epoch != t->epoch) {
		t->epoch = epoch;
		t->stamped = 0;
	}
	if (t->stamped < STAMP_FIRST) {
		t->stamped++;
		t->stamp_due = t->head;
	} else {
		t->stamp_due = t->head + t->stamp_bytes;
	}
	return true;
}

uint64_t ring_stamp(struct thread *t)
{
	const uint64_t now = stamp_now(), passed = now - t->stamp;
	uint32_t bytes = t->stamp_bytes;

	if (passed > 4 * STAMP_TICKS)
		bytes /= 2;
	else if (passed < STAMP_TICKS && t->stamp_due > t->head)
		bytes *= 2;
	t->stamp_bytes = bytes < STAMP_BYTES_MIN   ? STAMP_BYTES_MIN
			 : bytes > STAMP_BYTES_MAX ? STAMP_BYTES_MAX
						   : bytes;
	t->stamp = now;
	return now;
}

/* ---- publishing ---- */

/* How far common records may go. */
static uint64_t limit_at(const struct thread *t)
{
	uint64_t end = (t->head | (t->wrap - 1)) + 1; /* a lap's end is the ring's, too */

	if (!the_process.quick || t->losses != t->told_losses)
		return 0;
	if (end > t->tail + t->size)
		end = t->tail + t->size;
	if (end > t->stamp_due && !the_process.many)
		end = t->stamp_due;
	return end;
}

void ring_publish(struct thread *t, uint32_t words)
{
	const uint64_t old = t->head;

	t->head += (uint64_t)words * 8;
	/* Everything of the record is in place before the reader can see that it is there. */
	atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
	if ((old ^ t->head) & t->wrap)
		ring_turn(t);
	t->limit_at = limit_at(t);
}

void ring_put_stamped(struct thread *t, uint64_t *w, uint64_t head, const uint64_t *operands, unsigned n)
{
	w[1] = stamp_now();
	for (unsigned i = 0; i < n; i++)
		w[2 + i] = operands[i];
	ring_put_words(t, w, head | (uint64_t)SHM_STAMPED << 8, 2 + n);
}

static void set_losses(struct thread *t, uint64_t losses)
{
	t->losses = losses;
	t->limit_at = 0;
	atomic_store_explicit(&t->ring->lost, losses, memory_order_relaxed);
}

void ring_lose(struct thread *t)
{
	set_losses(t, t->losses + 1);
}

void ring_doubt(struct thread *t)
{
	if (!t->doubtful)
		ring_lose(t);
	t->doubtful = true;
}

void ring_trust(struct thread *t)
{
	if (t->doubtful)
		set_losses(t, t->losses - 1);
	t->doubtful = false;
}
