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
	lane->tail = lane->head = atomic_load(&lane->ring->tail);
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

/* Reads the record at `w`, all of which is there. */
static void parse(const struct lane *lane, const uint64_t *w, struct lane_event *e)
{
	const uint64_t head = *w++;
	const bool has_stack = shm_has_stack(SHM_OP(head));

	*e = (struct lane_event){
		.op = SHM_OP(head),
		.flags = SHM_FLAGS(head),
		.stamp = lane->stamp,
		.node = SHM_NODE(head),
		.size = has_stack ? SHM_SIZE(head) : SHM_VALUE(head),
	};
	if (e->flags & SHM_STAMPED)
		e->stamp = *w++;
	if (e->flags & SHM_WIDE)
		e->size = *w++;
	if (e->op == SHM_OP_NODE)
		e->parent = SHM_PARENT(head);
	if (shm_operands(e->op) > 0)
		e->address = *w++;
	else
		e->address = e->size;
	if (shm_operands(e->op) > 1)
		e->old = *w++;
	if (e->flags & SHM_ALIGNED)
		e->align_log2 = *w++ & 63;
	if (e->flags & SHM_USABLE)
		e->usable = *w;
}

bool lane_peek(struct lane *lane, struct lane_event *e)
{
	const uint64_t *w;
	uint64_t skip = 0, at, room;
	unsigned words;

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
	words = shm_words(w[0]);
	if (words > room / 8)
		goto broken;
	parse(lane, w, e);
	e->bytes = skip + words * 8ull;
	return true;

broken:
	lane->broken = true;
	return false;
}

void lane_take(struct lane *lane, const struct lane_event *event)
{
	lane->tail += event->bytes;
	lane->stamp = event->stamp;
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
