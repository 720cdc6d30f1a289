/* SPDX-License-Identifier: MIT */
#include "consumer.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mstrace.h"

void lane_open(struct lane *lane, struct shm_segment *segment, uint32_t slot)
{
	*lane = (struct lane){
		.ring = &segment->rings[slot],
		.data = shm_ring_data(segment, slot),
		.size = shm_ring_bytes(slot),
	};
	lane->tail = lane->released = lane->head = atomic_load(&lane->ring->tail);
}

void lane_finish(struct lane *lane)
{
	free(lane->nodes);
	*lane = (struct lane){ 0 };
}

static void forget(struct lane_node *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		nodes[i] = (struct lane_node){ .stack = MST_NONE };
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
	forget(nodes + lane->n_nodes, n - lane->n_nodes);
	lane->nodes = nodes;
	lane->n_nodes = n;
	return true;
}

void lane_forget(struct lane *lane)
{
	forget(lane->nodes, lane->n_nodes);
}

/* The program may write there at any time: what is checked and what is used are the same read. */
static inline uint64_t read_head(const uint64_t *w)
{
	return *(const volatile uint64_t *)w;
}

/* Reads the record behind its head, all of which is there; returns where it ends. */
static inline const uint64_t *parse(uint64_t head, const uint64_t *w, struct lane_event *e, uint64_t *stamp)
{
	const uint8_t flags = SHM_FLAGS(head);
	const unsigned operands = shm_operands(SHM_OP(head));

	e->op = SHM_OP(head);
	e->flags = flags;
	e->node = SHM_NODE(head);
	e->parent = SHM_PARENT(head);
	e->align_log2 = 0;
	if (flags & SHM_STAMPED)
		*stamp = *w++;
	e->stamp = *stamp;
	e->size = shm_has_stack(e->op) ? SHM_SIZE(head) : SHM_VALUE(head);
	if (flags & SHM_WIDE)
		e->size = *w++;
	e->address = operands > 0 ? *w++ : e->size;
	if (operands > 1)
		e->old = *w++;
	if (flags & SHM_ALIGNED)
		e->align_log2 = *w++ & 63;
	if (flags & SHM_USABLE)
		e->usable = *w++;
	return w;
}

/* Where the record at *at begins, behind padding if there is any, and its head; NULL: not the whole of it is there. */
static const uint64_t *record_at(const struct lane *lane, uint64_t *at, uint64_t *head)
{
	const uint64_t *w = (const uint64_t *)(lane->data + (*at & (lane->size - 1)));
	uint64_t room;

	*head = read_head(w);
	if (SHM_OP(*head) == SHM_PAD) {
		*at += lane->size - (*at & (lane->size - 1));
		w = (const uint64_t *)lane->data;
		if ((int64_t)(lane->head - *at) <= 0)
			return NULL;
		*head = read_head(w);
	}
	room = lane->size - (*at & (lane->size - 1));
	if (room > lane->head - *at)
		room = lane->head - *at;
	return shm_words(*head) <= room / 8 ? w : NULL;
}

const struct lane_event *lane_read(struct lane *lane)
{
	uint64_t at = lane->tail, head = 0;
	const uint64_t *w = NULL;

	if (lane->tail - lane->released >= LANE_RELEASE_BYTES)
		lane_release(lane);
	if (lane->broken)
		return NULL;
	if (lane->head - at <= lane->size && !((lane->head | at) & 7))
		w = record_at(lane, &at, &head);
	lane->broken = !w;
	lane->peeked = w;
	if (!w)
		return NULL;
	lane->event.end = at + (uint64_t)(parse(head, w + 1, &lane->event, &lane->stamp) - w) * 8;
	return &lane->event;
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
