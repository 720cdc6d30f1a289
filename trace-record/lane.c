/* SPDX-License-Identifier: MIT */
#include "lane.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES_MAX 65536u /* more than a program ever sends */

void lane_open(struct lane *lane, struct shm_segment *segment, uint32_t slot)
{
	*lane = (struct lane){
		.ring = &segment->rings[slot],
		.data = shm_ring_data(segment, slot),
		.size = shm_ring_bytes(slot),
	};
	lane->tail = lane->head = atomic_load(&lane->ring->tail);
	lane->null_frees = 0;
}

void lane_finish(struct lane *lane)
{
	free(lane->pcs);
	free(lane->frames);
	free(lane->stacks);
	*lane = (struct lane){ 0 };
}

bool lane_reserve(struct lane *lane, uint32_t n)
{
	uint32_t capacity = lane->capacity ? lane->capacity : 256;
	uint64_t *pcs;
	uint32_t *frames, *stacks;

	if (n <= lane->capacity)
		return true;
	while (capacity < n)
		capacity *= 2;
	pcs = realloc(lane->pcs, capacity * sizeof(*pcs));
	if (pcs)
		lane->pcs = pcs;
	frames = realloc(lane->frames, capacity * sizeof(*frames));
	if (frames)
		lane->frames = frames;
	stacks = realloc(lane->stacks, capacity * sizeof(*stacks));
	if (stacks)
		lane->stacks = stacks;
	if (!pcs || !frames || !stacks)
		return false;
	lane->capacity = capacity;
	return true;
}

/* The size of the record at `w`, of which `words` can be read; 0 = impossible. */
static uint32_t record_words(const uint64_t *w, uint64_t words)
{
	const uint64_t head = w[0];
	const uint32_t n = 2 + shm_operands(SHM_OP(head)) + !!(SHM_FLAGS(head) & SHM_USABLE) + SHM_SENT(head);

	if (n > words || SHM_FROM(head) > FRAMES_MAX || SHM_ALIGN(head) > 63)
		return 0;
	return n;
}

bool lane_peek(struct lane *lane, struct lane_event *e)
{
	const uint64_t *w;
	uint64_t skip = 0, at, room;
	uint32_t words;
	unsigned operands;

	if (lane->broken || lane->tail == lane->head)
		return false;
	if (lane->head - lane->tail > lane->size || (lane->head | lane->tail) & 7)
		goto broken;
	at = lane->tail & (lane->size - 1);
	w = (const uint64_t *)(lane->data + at);
	if (SHM_OP(w[0]) == SHM_PAD) {
		skip = lane->size - at;
		w = (const uint64_t *)lane->data;
		at = 0;
		if (lane->head - lane->tail <= skip)
			goto broken;
	}
	room = lane->head - lane->tail - skip;
	if (room > lane->size - at)
		room = lane->size - at;
	words = record_words(w, room / 8);
	if (!words)
		goto broken;

	operands = shm_operands(SHM_OP(w[0]));
	*e = (struct lane_event){
		.op = SHM_OP(w[0]),
		.flags = SHM_FLAGS(w[0]),
		.align_log2 = SHM_ALIGN(w[0]),
		.stamp = w[1],
		.from = SHM_FROM(w[0]),
		.sent = SHM_SENT(w[0]),
		.frames = w + words - SHM_SENT(w[0]),
		.bytes = skip + words * 8ull,
	};
	if (operands == 1) {
		e->address = e->size = w[2];
	} else {
		e->address = w[2];
		e->size = w[3];
		e->old = operands == 3 ? w[4] : 0;
	}
	if (e->flags & SHM_USABLE)
		e->usable = w[2 + operands];
	return true;

broken:
	lane->broken = true;
	return false;
}

void lane_take(struct lane *lane, const struct lane_event *event)
{
	lane->tail += event->bytes;
}

void lane_release(struct lane *lane)
{
	struct shm_ring *ring = lane->ring;

	if (atomic_load_explicit(&ring->tail, memory_order_relaxed) == lane->tail)
		return;
	/* All reads of the records come before the producer may overwrite them; and the producer's
	 * `waiting` is looked at after the tail is out (it looks the other way round). */
	atomic_store(&ring->tail, lane->tail);
	if (atomic_load(&ring->waiting)) {
		atomic_fetch_add(&ring->space, 1);
		syscall(SYS_futex, &ring->space, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

bool lane_done(const struct lane *lane)
{
	return shm_owner_gone(&lane->ring->owner) &&
	       (lane->broken || lane->tail == atomic_load_explicit(&lane->ring->head, memory_order_acquire));
}
