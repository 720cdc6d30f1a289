/* SPDX-License-Identifier: MIT */
#include "thread_begin.h"

#include <errno.h>

#include "doorbell.h"
#include "process_begin.h"
#include "sampler.h"
#include "segments.h"
#include "thread_lookup.h"
#include "unwind.h"

/* Nodes of stacks remembered for each thread: many for the first threads, which are the busy ones. */
#define STACK_CAPACITY_FIRST 16384u
#define STACK_CAPACITY 8192u
#define STACK_FIRSTS 4u

_Static_assert(STACK_CAPACITY / 4 >= SHM_DEPTH_MAX, "all wanted frames of a stack fit");

#define AWAITS 2000u /* ms that a thread waits for the ring of one that is gone */

static _Atomic bool no_rings; /* the last wait for a ring was in vain: don't wait again until one is free */

/* ---- rings ---- */

static struct shm_ring *claim_ring(struct process *p, uint32_t from, uint32_t *ring_id)
{
	for (uint32_t i = from; i < SHM_RINGS; i++) {
		struct shm_ring *ring = &p->segment->rings[i];
		uint32_t state = SHM_RING_FREE;
		uint32_t used;

		if (atomic_load_explicit(&ring->state, memory_order_relaxed) != SHM_RING_FREE ||
		    !atomic_compare_exchange_strong(&ring->state, &state, SHM_RING_CLAIMED))
			continue;
		used = atomic_load(&p->segment->rings_used);
		while (used <= i && !atomic_compare_exchange_weak(&p->segment->rings_used, &used, i + 1))
			;
		if (i > 0)
			atomic_store(&p->many_rings, true);
		*ring_id = i;
		return ring;
	}
	return NULL;
}

static bool any_owner_gone(struct process *p)
{
	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		if (shm_owner_gone(&p->segment->rings[i].owner))
			return true;
	}
	return false;
}

/* All rings are taken, but some by threads that are gone: msrec frees these rings when it has read them. */
static struct shm_ring *await_ring(struct process *p, uint32_t from, uint32_t *ring_id)
{
	static _Atomic uint32_t never_woken;
	struct shm_ring *ring = NULL;

	for (unsigned i = 0; !ring && !atomic_load(&no_rings) && any_owner_gone(p); i++) {
		if (shm_owner_gone(&p->family->collector))
			return NULL;
		doorbell_ring(p->family);
		os_wait(&never_woken, 0, 1);
		ring = claim_ring(p, from, ring_id);
		if (i == AWAITS)
			atomic_store(&no_rings, true);
	}
	return ring;
}

/* ---- threads without a ring ---- */

#define RINGLESS_BITS 10

/*
 * The thread pointers of threads that found no ring, as long as there is none: their calls are counted as losses without
 * another search.
 */
static _Atomic uintptr_t ringless[1u << RINGLESS_BITS];

static _Atomic uintptr_t *ringless_entry(void)
{
	return &ringless[(thread_pointer() * 0x9e3779b97f4a7c15u) >> (64 - RINGLESS_BITS)];
}

static bool is_ringless(struct process *p)
{
	return atomic_load(&p->full_at) == atomic_load(&p->segment->rings_freed) + 1 &&
	       atomic_load(ringless_entry()) == thread_pointer();
}

/* Remembers whether the calling thread has a ring. */
static void note_ring(bool has_one)
{
	uintptr_t tp = thread_pointer();

	if (has_one)
		atomic_compare_exchange_strong(ringless_entry(), &tp, 0);
	else
		atomic_store(ringless_entry(), tp);
}

/* ---- states ---- */

/* A thread's memory begins with its state; the unwinder's stack follows. */
#define THREAD_BYTES ((sizeof(struct thread) + 63) / 64 * 64)

static struct thread *thread_memory(struct process *p, uint32_t ring_id)
{
	const uint32_t capacity = ring_id < STACK_FIRSTS ? STACK_CAPACITY_FIRST : STACK_CAPACITY;
	struct thread *t = p->threads[ring_id];

	if (!t) {
		t = os_map(THREAD_BYTES + unwind_stack_bytes(capacity));
		if (!t)
			return NULL;
		t->ring_id = ring_id;
		process_place_thread(p, t);
		atomic_store_explicit(&p->threads[ring_id], t, memory_order_release);
	}
	RECORDER_ASSERT(t->ring_id == ring_id && t->out.ring == &p->segment->rings[ring_id]);
	t->stack = unwind_stack_init((char *)t + THREAD_BYTES, capacity, p->options.depth);
	t->stack->counts = &t->out.ring->stacks;
	return t;
}

static void set_up_producer(struct process *p, struct producer *r)
{
	r->head = atomic_load_explicit(&r->ring->head, memory_order_relaxed);
	r->tail = atomic_load_explicit(&r->ring->tail, memory_order_relaxed);
	r->losses = r->emitted_losses = atomic_load_explicit(&r->ring->lost, memory_order_relaxed);
	r->lossy = r->doubtful = false;
	r->epoch = atomic_load_explicit(&p->family->epoch, memory_order_relaxed) - 1;
	r->stamp_due = r->limit = 0;
	RECORDER_ASSERT(r->tail <= r->head && r->head - r->tail <= r->size && r->head % 8 == 0);
}

/* For a child that the thread may fork. */
static void note_list(struct thread *t)
{
	size_t size;

	if (LIBC_FORKS_LIST && os_call6(SYS_get_robust_list, 0, (long)&t->locked, (long)&size, 0, 0, 0) < 0)
		t->locked = NULL;
}

/* Makes a claimed ring the calling thread's; `outer`: the state whose event the thread is in. */
static void set_up_thread(struct process *p, struct thread *t, const struct thread *outer)
{
	struct shm_ring *ring = t->out.ring;

	atomic_store(&t->tp, 0);
	t->first_ring_id = outer ? outer->first_ring_id : t->ring_id;
	t->nested = NULL;
	set_up_producer(p, &t->out);
	t->inside = OUTSIDE;
	t->fork.current = t->fork.last = 0;
	t->extras.top = 0;
	t->extras.emitted_depth = 0;
	ring->tid = os_tid();
	ring->pointer = thread_pointer();
	ring->began = stamp_now();
	ring->within = outer ? outer->first_ring_id + 1 : 0;
	if (sample_on)
		sample_seed(&t->countdown, stamp_now() ^ (uint64_t)ring->tid << 32);
	if (ring->use++ == 0)
		shm_lock_for_life(&ring->owner);
	else
		shm_take_over(&ring->owner);
	note_list(t);
	atomic_store_explicit(&ring->state, SHM_RING_USED, memory_order_release);
}

/* A state with a ring for the calling thread, or NULL. Signals are blocked while the ring has no owner. */
static struct thread *begin_ring(struct process *p, const struct thread *outer)
{
	const uint32_t from = outer ? outer->first_ring_id + 1 : 0;
	const uint32_t freed = atomic_load(&p->segment->rings_freed);
	struct shm_ring *ring;
	struct thread *t;
	uint64_t mask;
	uint32_t ring_id;

	ring = claim_ring(p, from, &ring_id);
	if (!ring)
		ring = await_ring(p, from, &ring_id);
	if (!ring) {
		if (from == 0)
			atomic_store(&p->full_at, freed + 1);
		return NULL;
	}
	mask = os_block_signals();
	atomic_store(&no_rings, false);
	t = segments_open_ring(p, ring_id) ? thread_memory(p, ring_id) : NULL;
	if (t)
		set_up_thread(p, t, outer);
	else
		atomic_store(&ring->state, SHM_RING_FREE);
	os_set_signals(mask);
	return t;
}

struct thread *thread_inside(struct thread *t)
{
	for (; t && t->inside == EMITTING; t = t->nested) {
		/* Extras belong to the thread as a whole and cannot be emitted to two rings. */
		if (!t->nested && !the_process.options.extras)
			t->nested = begin_ring(&the_process, t);
		if (t->nested)
			ring_doubt(&t->out);
	}
	return t;
}

/* ---- threads ---- */

void thread_start_timer(struct thread *t)
{
	struct shm_family *family = the_process.family;

	if (family->timer_ms && !sampler_begin_thread(&t->extras.timer, family->timer_ms))
		atomic_fetch_add(&family->untimed, 1);
}

/* Replaces the counter of the thread that had the ring before. */
static void start_counter(struct process *p, struct thread *t)
{
	struct counter *counter = &t->extras.counter;

	counter_close(counter);
	t->extras.counted = 0;
	if (counter_open(counter) < 0)
		atomic_fetch_add(&p->family->uncounted, 1);
	else if (counter->page)
		os_own((uintptr_t)counter->page, sizeof(*counter->page));
}

/* Threads that had this thread pointer before are gone. */
static void forget_namesakes(struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		uintptr_t tp = thread_pointer();

		if (p->threads[i])
			atomic_compare_exchange_strong(&p->threads[i]->tp, &tp, 0);
	}
}

/* Makes the calling thread a recorded one. NULL: there is no room for it. */
static struct thread *begin_thread(struct process *p)
{
	struct thread *t = begin_ring(p, NULL);

	if (!t)
		return NULL;
	if (t->ring_id > 0)
		atomic_store(&p->threaded, true);
	forget_namesakes(p);
	t->extras.top = atomic_exchange(&p->forks.top, 0);
	atomic_store(&t->tp, thread_pointer());
	thread_start_timer(t);
	if (p->options.extras & EXTRA_COUNT)
		start_counter(p, t);
	return t;
}

struct thread *thread_begin(void)
{
	const int saved = errno;
	struct process *p = process_now();
	struct thread *t = NULL;

	if (!p)
		p = process_begin();
	if (p && !is_ringless(p)) {
		t = thread_find(p);
		if (!t)
			t = begin_thread(p);
		note_ring(t);
	}
	if (p && !t)
		atomic_fetch_add(&p->segment->ringless, 1);
	if (t)
		atomic_store(thread_cache_entry(thread_pointer()), t);
	errno = saved;
	return t;
}
