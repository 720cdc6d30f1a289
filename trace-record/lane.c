/* SPDX-License-Identifier: MIT */
#include "lane.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void lane_open(struct lane *lane, struct shm_segment *segment, uint32_t slot)
{
	*lane = (struct lane){
		.ring = &segment->rings[slot],
		.data = shm_ring_data(segment, slot),
		.size = shm_ring_bytes(slot),
	};
	lane->tail = lane->read = lane->released = lane->head = atomic_load(&lane->ring->tail);
}

void lane_finish(struct lane *lane)
{
	free(lane->nodes);
	*lane = (struct lane){ 0 };
}

bool lane_reserve(struct lane *lane, uint16_t node)
{
	uint32_t n = lane->n_nodes ? lane->n_nodes : 256;
	struct lane_node *nodes;

	if (node < lane->n_nodes)
		return true;
	while (n <= node)
		n *= 2;
	nodes = realloc(lane->nodes, n * sizeof(*nodes));
	if (!nodes)
		return false;
	memset(nodes + lane->n_nodes, 0, (n - lane->n_nodes) * sizeof(*nodes));
	lane->nodes = nodes;
	lane->n_nodes = n;
	return true;
}

void lane_forget(struct lane *lane)
{
	if (lane->nodes)
		memset(lane->nodes, 0, lane->n_nodes * sizeof(*lane->nodes));
}

/* Reads the record at `w`, all of which is there; returns where it ends. */
static inline const uint64_t *parse(struct lane *lane, const uint64_t *w, struct lane_event *e)
{
	const uint64_t head = *w++;
	const uint8_t flags = SHM_FLAGS(head);
	unsigned operands;

	e->op = SHM_OP(head);
	e->flags = flags;
	if (flags & SHM_STAMPED)
		lane->stamp = *w++;
	e->stamp = lane->stamp;
	e->counted = 0;
	if (e->op == SHM_OP_FREE && !(flags & ~SHM_STAMPED)) {
		e->address = SHM_VALUE(head);
		return w;
	}
	e->node = SHM_NODE(head);
	e->parent = SHM_PARENT(head);
	e->align_log2 = 0;
	e->size = shm_has_stack(e->op) ? SHM_SIZE(head) : SHM_VALUE(head);
	if (flags & SHM_WIDE)
		e->size = *w++;
	operands = shm_operands(e->op);
	e->address = operands > 0 ? *w++ : e->size;
	if (operands > 1)
		e->old = *w++;
	if (flags & SHM_ALIGNED)
		e->align_log2 = *w++ & 63;
	if (flags & SHM_USABLE)
		e->usable = *w++;
	if (flags & SHM_COUNTED)
		e->counted = *w++;
	return w;
}

/* Reads one event from the ring, at lane->read. */
static bool read_event(struct lane *lane, struct lane_event *e)
{
	const uint64_t left = lane->head - lane->read;
	uint64_t skip = 0, at = lane->read & (lane->size - 1), room;
	const uint64_t *w = (const uint64_t *)(lane->data + at), *end;

	if (__builtin_expect(SHM_OP(w[0]) == SHM_PAD, 0)) {
		skip = lane->size - at;
		w = (const uint64_t *)lane->data;
		at = 0;
		if (left <= skip)
			return false;
	}
	room = left - skip;
	if (room > lane->size - at)
		room = lane->size - at;
	if (__builtin_expect(room < SHM_RECORD_WORDS * 8, 0) && shm_words(w[0]) > room / 8)
		return false;
	end = parse(lane, w, e);
	e->bytes = skip + (uint64_t)(end - w) * 8;
	lane->read += e->bytes;
	return true;
}

bool lane_read(struct lane *lane)
{
	lane->first = lane->end = 0;
	if (!lane->broken && (lane->head - lane->read > lane->size || (lane->head | lane->read) & 7))
		lane->broken = true;
	while (!lane->broken && lane->read != lane->head && lane->end < LANE_WINDOW) {
		if (read_event(lane, &lane->window[lane->end]))
			lane->end++;
		else
			lane->broken = true;
	}
	return lane->end > 0;
}

void lane_release(struct lane *lane)
{
	struct shm_ring *ring = lane->ring;

	if (lane->released == lane->tail)
		return;
	lane->released = lane->tail;
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
