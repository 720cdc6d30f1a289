/* SPDX-License-Identifier: MIT */
#include "lane.h"

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
	lane->tail = lane->read = lane->released = lane->head = atomic_load(&lane->ring->tail);
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

/* Reads the record at `w`, all of which is there; returns where it ends. */
static inline const uint64_t *parse(const uint64_t *w, struct lane_event *e, uint64_t *stamp)
{
	const uint64_t head = *w++;
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

/* The same for the commonest records; NULL: it is another one. */
static inline const uint64_t *parse_common(const uint64_t *w, struct lane_event *e, uint64_t *stamp)
{
	const uint64_t head = *w++;

	if (__builtin_expect(SHM_FLAGS(head) & ~SHM_STAMPED, 0))
		return NULL;
	e->op = SHM_OP(head);
	e->flags = SHM_FLAGS(head);
	if (SHM_FLAGS(head) & SHM_STAMPED)
		*stamp = *w++;
	e->stamp = *stamp;
	if (SHM_OP(head) == SHM_OP_FREE) {
		e->address = SHM_VALUE(head);
		return w;
	}
	if (SHM_OP(head) != MST_OP_MALLOC && SHM_OP(head) != MST_OP_NEW)
		return NULL;
	e->node = SHM_NODE(head);
	e->align_log2 = 0;
	e->size = SHM_SIZE(head);
	e->address = *w++;
	return w;
}

/* Where the record at *at begins, behind padding if there is any; NULL: not the whole of it is there. */
static __attribute__((noinline)) const uint64_t *record_at(const struct lane *lane, uint64_t *at)
{
	const uint64_t *w = (const uint64_t *)(lane->data + (*at & (lane->size - 1)));
	uint64_t room;

	if (SHM_OP(w[0]) == SHM_PAD) {
		*at += lane->size - (*at & (lane->size - 1));
		w = (const uint64_t *)lane->data;
		if ((int64_t)(lane->head - *at) <= 0)
			return NULL;
	}
	room = lane->size - (*at & (lane->size - 1));
	if (room > lane->head - *at)
		room = lane->head - *at;
	return shm_words(w[0]) <= room / 8 ? w : NULL;
}

/* Reads common records up to one that is none, or that may not be there whole. */
static inline uint32_t read_common(struct lane *lane, uint32_t n)
{
	const uint64_t in_ring = lane->size - (lane->read & (lane->size - 1)),
		       there = lane->head - lane->read;
	const uint64_t room = (in_ring < there ? in_ring : there) / 8;
	const uint64_t *const first = (const uint64_t *)(lane->data + (lane->read & (lane->size - 1)));
	const uint64_t *const last = first + room, *w = first, *next;
	uint64_t stamp = lane->stamp;

	for (; n < LANE_WINDOW && last - w >= (int)SHM_RECORD_WORDS; n++, w = next) {
		struct lane_event *e = &lane->window[n];

		next = parse_common(w, e, &stamp);
		if (!next)
			break;
		e->end = lane->read + (uint64_t)(next - first) * 8;
	}
	lane->stamp = stamp;
	lane->read += (uint64_t)(w - first) * 8;
	return n;
}

/* Reads a record of any kind; false if there is something else. */
static bool read_any(struct lane *lane, struct lane_event *e)
{
	const uint64_t *const w = record_at(lane, &lane->read);

	if (w)
		e->end = lane->read += (uint64_t)(parse(w, e, &lane->stamp) - w) * 8;
	return w;
}

bool lane_read(struct lane *lane)
{
	uint32_t n = 0;

	if (lane->head - lane->read > lane->size || (lane->head | lane->read) & 7)
		lane->broken = true;
	while (!lane->broken && lane->read != lane->head && n < LANE_WINDOW) {
		n = read_common(lane, n);
		if (n == LANE_WINDOW || lane->read == lane->head)
			break;
		lane->broken = !read_any(lane, &lane->window[n]);
		n += !lane->broken;
	}
	lane->next = lane->window;
	lane->end = lane->window + n;
	return n > 0;
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
