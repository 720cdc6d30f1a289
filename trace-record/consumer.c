/* SPDX-License-Identifier: MIT */
#include "consumer.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "mstrace.h"

void consumer_open(struct consumer *consumer, struct shm_segment *segment, uint32_t ring_id)
{
	*consumer = (struct consumer){
		.ring = &segment->rings[ring_id],
		.data = shm_ring_data(segment, ring_id),
		.size = shm_ring_bytes(ring_id),
	};
	assert((consumer->size & (consumer->size - 1)) == 0);
	consumer->tail = consumer->released = consumer->head = atomic_load(&consumer->ring->tail);
}

void consumer_finish(struct consumer *consumer)
{
	free(consumer->nodes);
	*consumer = (struct consumer){ 0 };
}

static void forget(struct consumer_node *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		nodes[i] = (struct consumer_node){ .stack = MST_NONE };
}

bool consumer_reserve(struct consumer *consumer, uint32_t node)
{
	const uint32_t before = consumer->n_nodes;

	if (!array_reserve(&consumer->nodes, node, &consumer->n_nodes, sizeof(*consumer->nodes)))
		return false;
	forget(consumer->nodes + before, consumer->n_nodes - before);
	return true;
}

void consumer_forget(struct consumer *consumer)
{
	forget(consumer->nodes, consumer->n_nodes);
}

/* Reads the record behind its head, all of which is in the ring; returns its end. */
static inline const uint64_t *parse(uint64_t head, const uint64_t *w, struct consumer_event *e,
				    uint64_t *stamp)
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

/* The record at *at, behind padding if there is any, and its head; NULL: not the whole of it is in the ring. */
static const uint64_t *record_at(const struct consumer *consumer, uint64_t *at, uint64_t *head)
{
	const uint64_t *w = (const uint64_t *)(consumer->data + (*at & (consumer->size - 1)));
	uint64_t room;

	*head = consumer_read_head(w);
	if (SHM_OP(*head) == SHM_PAD) {
		*at += consumer->size - (*at & (consumer->size - 1));
		w = (const uint64_t *)consumer->data;
		if ((int64_t)(consumer->head - *at) <= 0)
			return NULL;
		*head = consumer_read_head(w);
	}
	room = consumer->size - (*at & (consumer->size - 1));
	if (room > consumer->head - *at)
		room = consumer->head - *at;
	return shm_words(*head) <= room / 8 ? w : NULL;
}

const struct consumer_event *consumer_read(struct consumer *consumer)
{
	uint64_t at = consumer->tail, head = 0;
	const uint64_t *w = NULL;

	if (consumer->tail - consumer->released >= CONSUMER_RELEASE_BYTES)
		consumer_release(consumer);
	if (consumer->broken)
		return NULL;
	if (consumer->head - at <= consumer->size && !((consumer->head | at) & 7))
		w = record_at(consumer, &at, &head);
	consumer->broken = !w;
	consumer->peeked = w;
	if (!w)
		return NULL;
	consumer->event.end = at + (uint64_t)(parse(head, w + 1, &consumer->event, &consumer->stamp) - w) * 8;
	return &consumer->event;
}

void consumer_release(struct consumer *consumer)
{
	struct shm_ring *ring = consumer->ring;

	if (consumer->released == consumer->tail)
		return;
	assert(consumer->tail - consumer->released <= consumer->size);
	consumer->released = consumer->tail;
	/*
	 * Sequentially consistent: all reads of the records come before the store, and `waiting` is read behind it (the
	 * producer sets `waiting`, then reads the tail).
	 */
	atomic_store(&ring->tail, consumer->tail);
	if (atomic_load(&ring->waiting)) {
		atomic_fetch_add(&ring->space, 1);
		syscall(SYS_futex, &ring->space, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

bool consumer_done(const struct consumer *consumer)
{
	return shm_owner_gone(&consumer->ring->owner) &&
	       (consumer->broken ||
		consumer->tail == atomic_load_explicit(&consumer->ring->head, memory_order_acquire));
}
