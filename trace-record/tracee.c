/* SPDX-License-Identifier: MIT */
/* A recorded process: its life, its forks, and which threads have which rings. */
#include "tracee.h"

#include <stdlib.h>
#include <string.h>

#include "tracee_state.h"

#define BEHIND 8u /* with this part of a ring unread, the program may soon have to wait */

/* ---- life ---- */

static struct tracee *tracee_alloc(struct shm_segment *segment)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->segment = segment;
	t->at_thread = MST_NONE;
	t->step = INT64_MAX;
	t->kinds = calloc(1u << KIND_CACHE_BITS, sizeof(*t->kinds));
	t->consumers = calloc(SHM_RINGS, sizeof(*t->consumers));
	if (!t->kinds || !t->consumers || frames_init(&t->frames) != 0) {
		tracee_destroy(t);
		return NULL;
	}
	if (segment)
		t->frames.modules = shm_modules(segment);
	return t;
}

struct tracee *tracee_create(struct shm_segment *segment, struct mst_writer *writer, uint32_t depth,
			     bool follows_pages)
{
	struct tracee *t = tracee_alloc(segment);

	if (!t)
		return NULL;
	t->depth = depth;
	if (follows_pages)
		t->pages = page_state_create();
	if (blocks_init(&t->blocks) != 0 || customs_init(&t->customs) != 0 || (follows_pages && !t->pages)) {
		tracee_destroy(t);
		return NULL;
	}
	t->writer = writer;
	t->has_file = true;
	return t;
}

void tracee_destroy(struct tracee *t)
{
	if (!t)
		return;
	tracee_forget_forks(t);
	for (uint32_t i = 0; i < t->n_consumers; i++)
		consumer_finish(&t->consumers[i]);
	mst_writer_destroy(t->writer);
	blocks_finish(&t->blocks);
	customs_finish(&t->customs);
	page_state_destroy(t->pages);
	tids_finish(&t->tids);
	frames_finish(&t->frames);
	free(t->kinds);
	free(t->consumers);
	free(t);
}

struct mst_writer *tracee_writer(struct tracee *t)
{
	return t->writer;
}

void tracee_set_batch(struct tracee *t, uint32_t most)
{
	t->step = most;
}

struct shm_segment *tracee_segment(struct tracee *t)
{
	return t->segment;
}

/* ---- forks ---- */

/* Addresses that no program has: half of the address space is the kernel's. */
#define NOWHERE ((uint64_t)1 << 63)
#define NOWHERE_STEP 16u

/*
 * What other threads' reallocs have been given when they had not returned. The child has the blocks for ever, but not
 * their addresses: realloc may have given them up, and who would know the new ones isn't there.
 */
static int strand_moving(struct tracee *t, const struct tracee *parent)
{
	int err = 0;

	t->stranded = parent->stranded;
	for (uint32_t i = 0; i < parent->n_consumers && !err; i++) {
		const struct consumer *consumer = &parent->consumers[i];

		if (consumer->moving_address && blocks_add(&t->blocks, NOWHERE + t->stranded++ * NOWHERE_STEP,
							   consumer->moving) == BLOCKS_NO_MEMORY)
			err = MST_ERR_NOMEM;
	}
	return err;
}

/* What a child forked now would start from. Modules are told anew by the child itself. */
static struct tracee *copy_state(struct tracee *parent)
{
	struct tracee *t = tracee_alloc(NULL);

	if (!t)
		return NULL;
	t->depth = parent->depth;
	t->unknown_frees = parent->unknown_frees;
	t->implied_frees = parent->implied_frees;
	t->mapped = parent->mapped;
	t->null_frees = parent->null_frees;
	t->null_frees_before = parent->null_frees_before;
	t->exited = parent->exited;
	t->lost = parent->lost;
	t->instructions = parent->instructions;
	if (parent->pages)
		t->pages = page_state_copy(parent->pages);
	if ((parent->pages && !t->pages) || blocks_copy(&t->blocks, &parent->blocks) != 0 ||
	    strand_moving(t, parent) != 0 || customs_copy(&t->customs, &parent->customs) != 0 ||
	    mst_writer_fork_state(parent->writer, &t->writer) != 0) {
		tracee_destroy(t);
		return NULL;
	}
	return t;
}

static struct tracee *take_fork(struct tracee *t, uint32_t number)
{
	for (uint32_t i = 0; i < t->n_forks; i++) {
		struct tracee *child = t->forks[i].child;

		if (t->forks[i].number != number)
			continue;
		memmove(t->forks + i, t->forks + i + 1, (--t->n_forks - i) * sizeof(*t->forks));
		return child;
	}
	return NULL;
}

void tracee_forget_fork(struct tracee *t, uint32_t number)
{
	tracee_destroy(take_fork(t, number));
}

void tracee_forget_forks(struct tracee *t)
{
	while (t->n_forks)
		tracee_forget_fork(t, t->forks[0].number);
}

bool tracee_awaits_room(const struct tracee *t)
{
	return t->n_forks == FORKS_KEPT;
}

bool tracee_can_fork(struct tracee *t, const struct clock *clock)
{
	const uint64_t now = clock->ns[1];

	if (tracee_awaits_room(t) && !t->waits_ns)
		t->waits_ns = now;
	if (tracee_awaits_room(t))
		return false;
	t->waits_ns = 0;
	return true;
}

bool tracee_holds_fork(const struct tracee *t)
{
	return t->waits_ns;
}

void tracee_hold_no_longer(struct tracee *t, const struct clock *clock)
{
	if (t->waits_ns && tracee_awaits_room(t) && clock->ns[1] - t->waits_ns > FORK_WAIT_NS)
		tracee_forget_forks(t);
}

void tracee_keep_fork(struct tracee *t, uint32_t number)
{
	t->forks[t->n_forks++] = (struct fork_state){ number, copy_state(t) };
}

bool tracee_knows_fork(const struct tracee *t, uint32_t number)
{
	for (uint32_t i = 0; i < t->n_forks; i++) {
		if (t->forks[i].number == number)
			return true;
	}
	return false;
}

bool tracee_awaits_children(const struct tracee *t)
{
	return t->n_forks > 0;
}

struct tracee *tracee_create_child(struct shm_segment *segment, struct tracee *parent)
{
	const uint32_t fork = segment->parent_fork;
	struct tracee *t = tracee_knows_fork(parent, fork) ? take_fork(parent, fork) : copy_state(parent);

	if (t) {
		t->segment = segment;
		t->frames.modules = shm_modules(segment);
	}
	return t;
}

bool tracee_needs_file(struct tracee *t)
{
	const uint32_t n = atomic_load(&t->segment->rings_used);

	if (t->has_file)
		return false;
	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		struct shm_ring *ring = &t->segment->rings[i];

		if (atomic_load(&ring->head) != atomic_load(&ring->tail))
			return t->has_file = true;
	}
	return false;
}

/* ---- rings ---- */

int tracee_find_thread(struct tracee *t, struct mst_writer *writer, uint32_t slot, uint32_t *thread)
{
	const struct shm_ring *ring = &t->segment->rings[slot];
	const struct mst_thread definition = { .tid = ring->tid };
	const uint32_t first = ring->within - 1;

	if (first >= slot || !t->consumers[first].use)
		return mst_writer_thread(writer, &definition, thread);
	*thread = t->consumers[first].thread;
	return 0;
}

/* Opens a lane for a slot that has come into use, or whose thread is a new one. */
static int open_consumer(struct tracee *t, uint32_t slot)
{
	struct shm_ring *ring = &t->segment->rings[slot];
	struct consumer *consumer = &t->consumers[slot];

	if (atomic_load_explicit(&ring->state, memory_order_acquire) != SHM_RING_USED)
		return 0;
	if (!consumer->ring)
		consumer_open(consumer, t->segment, slot);
	if (consumer->use != ring->use) {
		consumer->use = ring->use;
		consumer->stack_depth = 0;
		consumer_forget(consumer);
		if (t->segment->unowned) {
			/* Valgrind may find nobody who called. */
			if (!consumer_reserve(consumer, 0))
				return MST_ERR_NOMEM;
			consumer->nodes[0].stack = MST_ROOT_STACK;
			return tids_find(&t->tids, t->writer, ring->tid, &consumer->thread);
		}
		return tracee_find_thread(t, t->writer, slot, &consumer->thread);
	}
	return 0;
}

/* Frees the slot of a thread that is gone, for another one. */
static void close_consumer(struct consumer *consumer)
{
	if (atomic_load(&consumer->ring->state) == SHM_RING_USED && consumer_done(consumer)) {
		atomic_store(&consumer->ring->tail, atomic_load(&consumer->ring->head));
		consumer->tail = consumer->released = consumer->head = atomic_load(&consumer->ring->head);
		consumer->peeked = false;
		consumer->broken = false;
		atomic_store(&consumer->ring->state, SHM_RING_FREE);
	}
}

int tracee_look_at_rings(struct tracee *t)
{
	const uint32_t n = atomic_load(&t->segment->rings_used);
	bool behind = false;
	int err;

	/* The program may say that there are fewer than before: those that are known stay known. */
	if (n > t->n_consumers)
		t->n_consumers = n < SHM_RINGS ? n : SHM_RINGS;
	for (uint32_t i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = &t->consumers[i];

		if ((err = open_consumer(t, i)))
			return err;
		if (!consumer->ring)
			continue;
		consumer_look(consumer);
		behind |= consumer->head - consumer->tail > consumer->size / BEHIND;
	}
	mst_writer_fast_level(t->writer, behind);
	return 0;
}

/* Not before the events that came before them: a file may end in between. */
static void tell_null_frees(struct tracee *t, struct consumer *consumer)
{
	uint64_t n;

	if (consumer_done(consumer))
		consumer->null_frees_seen =
			atomic_load_explicit(&consumer->ring->null_frees, memory_order_relaxed);
	else if (consumer->tail < consumer->null_frees_at)
		return;
	n = consumer->null_frees_seen - consumer->null_frees;
	if (n)
		mst_writer_null_frees(t->writer, n);
	t->null_frees += n;
	consumer->null_frees = consumer->null_frees_seen;
}

void tracee_settle_rings(struct tracee *t)
{
	for (uint32_t i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = &t->consumers[i];
		uint64_t lost;

		if (!consumer->ring)
			continue;
		consumer_release(consumer);
		tell_null_frees(t, consumer);
		lost = atomic_load_explicit(&consumer->ring->lost, memory_order_relaxed);
		t->lost += lost - consumer->lost + (consumer->broken && !consumer->told_broken);
		consumer->told_broken = consumer->broken;
		consumer->lost = lost;
		close_consumer(consumer);
	}
}

bool tracee_is_empty(struct tracee *t)
{
	const uint32_t n = atomic_load(&t->segment->rings_used);

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		struct shm_ring *ring = &t->segment->rings[i];
		const uint32_t state = atomic_load(&ring->state);

		if (state == SHM_RING_CLAIMED ||
		    (state == SHM_RING_USED && ((!t->segment->unowned && !shm_owner_gone(&ring->owner)) ||
						atomic_load(&ring->head) != atomic_load(&ring->tail))))
			return false;
	}
	return true;
}

uint64_t tracee_lost(struct tracee *t)
{
	return t->lost + atomic_load(&t->segment->ringless);
}

int tracee_emit_unloaded(struct tracee *t)
{
	return frames_emit_unloaded(&t->frames, t->writer);
}

void tracee_end(struct tracee *t, struct mst_end *end)
{
	end->events = mst_writer_events(t->writer);
	end->lost = tracee_lost(t);
	end->unknown_frees = t->unknown_frees;
	end->implied_frees = t->implied_frees;
}
