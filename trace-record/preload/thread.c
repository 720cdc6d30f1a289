/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <errno.h>

#include "doorbell.h"
#include "frametables.h"
#include "modules.h"
#include "next_malloc.h"
#include "pages.h"
#include "ring.h"
#include "sampler.h"
#include "segments.h"

/* Nodes of stacks remembered a thread: many for the first ones, which are the busy ones. */
#define STACK_CAPACITY_FIRST 16384u
#define STACK_CAPACITY 8192u
#define STACK_FIRSTS 4u

_Static_assert(STACK_CAPACITY / 4 >= SHM_DEPTH_MAX, "what is wanted of a stack fits");

#define RING_WRAP (64u << 10)

struct process the_process;
struct wiped *_Atomic thread_wiped;
_Atomic bool thread_off;
struct thread *_Atomic thread_cache[1u << THREAD_CACHE_BITS];

static _Atomic uint32_t setting_up; /* the process that is at begin_process(); 0: none */
static _Atomic bool no_rings;       /* the last wait for a ring was in vain: no more until one is free */

/* ---- the process ---- */

/* Where the events of a slot go in this process. */
static void place_thread(struct process *p, struct thread *t)
{
	t->ring = &p->segment->rings[t->slot];
	t->data = shm_ring_data(p->segment, t->slot);
	t->size = shm_ring_bytes(t->slot);
	t->wrap = t->size / 4 < RING_WRAP ? t->size / 4 : RING_WRAP;
}

/*
 * A signal handler has forked inside an event, which the child will go on with, into the ring of its parent, when the
 * handler returns: so that shall be memory of its own, which is never free, and the state is nobody else's.
 */
static void leave_event(struct process *p, uint32_t slot)
{
	p->threads[slot] = NULL;
	os_call6(SYS_mmap, (long)p->segment, (long)SHM_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	p->apart = false;
	atomic_store(&p->segment->state, SHM_SEGMENT_CLAIMED);
}

/* What the thread that forks knows of it. Returns the number of the fork. */
static uint32_t leave_thread(struct process *p, struct thread *t)
{
	while (t->inside == PUSHING) {
		leave_event(p, t->slot);
		if (!t->nested)
			break;
		t = t->nested;
	}
	p->null_frees = t->null_frees;
	p->top = t->top;
	return t->at_fork;
}

/* In the child of a fork, with its parent's segment: no thread state is anybody's. Returns the number of the fork. */
static uint32_t forget_threads(struct process *p)
{
	uint32_t fork = 0;

	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		struct thread *t = p->threads[i];

		if (t && atomic_load(&t->tp) == thread_pointer())
			fork = leave_thread(p, t);
		if (t) {
			atomic_store(&t->tp, 0);
			t->timer = 0;
			counter_forget(&t->counter);
		}
	}
	return fork;
}

/* Those that the parent had, for whoever comes to have the slots. */
static void place_threads(struct process *p)
{
	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		if (p->threads[i])
			place_thread(p, p->threads[i]);
	}
}

/* Gives this process a segment; `parent` is the one inherited from before a fork. */
static bool open_process(struct process *p, uint32_t parent)
{
	const bool forked = parent != SHM_NO_SEGMENT;
	const uint32_t fork = forked ? forget_threads(p) : 0;
	struct shm_segment *segment;

	if (!segments_map(p) || (p->family->sample_bytes && !sample_begin(p->family->sample_bytes)))
		return false;
	if (!segments_claim(p)) {
		atomic_fetch_add(&p->family->unrecorded, 1);
		return false;
	}
	segment = p->segment;
	p->pid = os_pid();
	p->depth = p->family->depth;
	p->use_tsc = p->family->use_tsc;
	p->free_stacks = p->family->free_stacks;
	p->usable = p->family->usable;
	p->extras = (p->family->stacks ? EXTRA_DEPTH : 0) | (p->family->instructions ? EXTRA_COUNT : 0);
	p->maps = p->family->maps;
	p->pages = p->family->pages;
	p->quick = !p->free_stacks && !p->usable && !p->extras && !p->family->sample_bytes;
	segment->pid = p->pid;
	segment->parent_pid = os_parent_pid();
	segment->parent = parent;
	segment->parent_fork = fork;
	if (forked)
		place_threads(p);
	p->left_threads |= forked && (p->forks_threads || p->threaded);
	atomic_store(&p->many, false);
	atomic_store(&p->threaded, false);
	atomic_store(&p->forking, 0);
	segment->start = os_stamp(p->use_tsc);
	shm_modules(segment)->capacity = SHM_MODULES;
	shm_modules(segment)->text_capacity = SHM_MODULE_TEXT;
	if (forked) {
		frametables_after_fork();
		modules_after_fork(shm_modules(segment));
	} else {
		modules_init(shm_modules(segment), real.find_object, stamp_now);
		if (p->family->trace_children)
			atomic_store(
				&segment->command_bytes,
				os_read_file("/proc/self/cmdline", shm_command(segment), SHM_COMMAND_BYTES));
	}
	atomic_store(&segment->state, SHM_SEGMENT_LIVE);
	doorbell_ring(p->family);
	return true;
}

static bool set_up_process(struct process *p, uint32_t pid)
{
	uint32_t parent = SHM_NO_SEGMENT;

	if (!thread_wiped)
		thread_wiped = os_map_wiped_on_fork();
	if (p->segment && p->pid != pid)
		parent = p->segment_number;
	if (!thread_wiped || !open_process(p, parent))
		return false;
	atomic_store_explicit(&thread_wiped->process, p, memory_order_release);
	return true;
}

/*
 * The first event of the process, or of a forked child. One thread sets up; others, and a signal
 * handler that comes in between, go on unrecorded until it is done.
 */
static struct process *begin_process(void)
{
	const uint32_t pid = os_pid();
	uint32_t at_it = atomic_load(&setting_up);

	/* Another process's number is left of our parent: the one who was at it stayed there. */
	if (at_it == pid || !atomic_compare_exchange_strong(&setting_up, &at_it, pid))
		return NULL;
	/* Another thread may have done it since we looked. */
	if (!process_now() && !set_up_process(&the_process, pid))
		atomic_store(&thread_off, true);
	atomic_store(&setting_up, 0);
	return process_now();
}

/* ---- threads ---- */

static struct shm_ring *claim_ring(struct process *p, uint32_t from, uint32_t *slot)
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
			atomic_store(&p->many, true);
		*slot = i;
		return ring;
	}
	return NULL;
}

/* Of a thread's memory, what it is itself; its stack follows. */
#define THREAD_BYTES ((sizeof(struct thread) + 63) / 64 * 64)

static struct thread *thread_memory(struct process *p, uint32_t slot)
{
	const uint32_t capacity = slot < STACK_FIRSTS ? STACK_CAPACITY_FIRST : STACK_CAPACITY;
	struct thread *t = p->threads[slot];

	if (!t) {
		t = os_map(THREAD_BYTES + unwind_stack_bytes(capacity));
		if (!t)
			return NULL;
		t->slot = slot;
		place_thread(p, t);
		atomic_store_explicit(&p->threads[slot], t, memory_order_release);
	}
	t->stack = unwind_stack_init((char *)t + THREAD_BYTES, capacity, p->depth);
	return t;
}

static bool any_owner_gone(struct process *p)
{
	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		if (shm_owner_gone(&p->segment->rings[i].owner))
			return true;
	}
	return false;
}

/* All slots are taken, but some by threads that are gone: msrec frees those when it has read them. */
static struct shm_ring *await_ring(struct process *p, uint32_t from, uint32_t *slot)
{
	static _Atomic uint32_t nobody_wakes;
	struct shm_ring *ring = NULL;

	for (unsigned i = 0; !ring && !atomic_load(&no_rings) && any_owner_gone(p); i++) {
		if (shm_owner_gone(&p->family->collector))
			return NULL;
		doorbell_ring(p->family);
		os_wait(&nobody_wakes, 0, 1);
		ring = claim_ring(p, from, slot);
		if (i == THREAD_AWAITS)
			atomic_store(&no_rings, true);
	}
	return ring;
}

void thread_start_timer(struct thread *t)
{
	struct shm_family *family = the_process.family;

	if (family->timer_ms && !sampler_begin_thread(&t->timer, family->timer_ms))
		atomic_fetch_add(&family->untimed, 1);
}

/* In the place of the counter that the slot's thread before had. */
static void start_counter(struct process *p, struct thread *t)
{
	counter_close(&t->counter);
	t->counted = 0;
	if (counter_open(&t->counter) < 0)
		atomic_fetch_add(&p->family->uncounted, 1);
	else if (t->counter.page)
		os_own((uintptr_t)t->counter.page, sizeof(*t->counter.page));
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

/* Makes a claimed slot the calling thread's; `outer`: its event inside which there are others. */
static void set_up_slot(struct process *p, struct thread *t, const struct thread *outer)
{
	struct shm_ring *ring = t->ring;

	atomic_store(&t->tp, 0);
	t->first_slot = outer ? outer->first_slot : t->slot;
	t->nested = NULL;
	t->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	t->tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	t->losses = t->told_losses = atomic_load_explicit(&ring->lost, memory_order_relaxed);
	t->inside = OUTSIDE;
	t->lossy = t->doubtful = false;
	t->at_fork = t->last_fork = 0;
	t->epoch = atomic_load_explicit(&p->family->epoch, memory_order_relaxed) - 1;
	t->stamp_due = t->limit_at = 0;
	t->top = 0;
	t->told_depth = 0;
	ring->tid = os_tid();
	ring->within = outer ? outer->first_slot + 1 : 0;
	if (sample_on)
		sample_seed(&t->countdown, os_stamp(p->use_tsc) ^ (uint64_t)ring->tid << 32);
	if (ring->use++ == 0)
		shm_lock_for_life(&ring->owner);
	else
		shm_take_over(&ring->owner);
	atomic_store_explicit(&ring->state, SHM_RING_USED, memory_order_release);
}

/* A slot for the calling thread, or NULL. No signal handler comes, or jumps away, while it is nobody's. */
static struct thread *begin_slot(struct process *p, const struct thread *outer)
{
	const uint32_t from = outer ? outer->first_slot + 1 : 0;
	struct shm_ring *ring;
	struct thread *t;
	uint64_t mask;
	uint32_t slot;

	ring = claim_ring(p, from, &slot);
	if (!ring)
		ring = await_ring(p, from, &slot);
	if (!ring)
		return NULL;
	mask = os_block_signals();
	atomic_store(&no_rings, false);
	t = thread_memory(p, slot);
	if (t)
		set_up_slot(p, t, outer);
	else
		atomic_store(&ring->state, SHM_RING_FREE);
	os_set_signals(mask);
	return t;
}

/* Makes the calling thread a recorded one. NULL: there is no room for it. */
static struct thread *begin_thread(struct process *p)
{
	struct thread *t = begin_slot(p, NULL);

	if (!t)
		return NULL;
	if (t->slot > 0)
		atomic_store(&p->threaded, true);
	forget_namesakes(p);
	t->top = atomic_exchange(&p->top, 0);
	atomic_store(&t->tp, thread_pointer());
	thread_start_timer(t);
	if (p->extras & EXTRA_COUNT)
		start_counter(p, t);
	return t;
}

struct thread *thread_find(struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);

	for (uint32_t i = 0; i < n; i++) {
		struct thread *t = p->threads[i];

		if (t && atomic_load(&t->tp) == thread_pointer() && is_own(t, thread_pointer()))
			return t;
	}
	return NULL;
}

struct thread *thread_inside(struct thread *t)
{
	for (; t && t->inside == PUSHING; t = t->nested) {
		/* What is told besides calls is of the thread, and can't be told in two places. */
		if (!t->nested && !the_process.extras)
			t->nested = begin_slot(&the_process, t);
		if (t->nested)
			ring_doubt(t);
	}
	return t;
}

struct thread *thread_begin(void)
{
	const int saved = errno;
	struct process *p = process_now();
	struct thread *t = NULL;

	if (!p)
		p = begin_process();
	if (p) {
		t = thread_find(p);
		if (!t)
			t = begin_thread(p);
		if (!t)
			atomic_fetch_add(&p->segment->ringless, 1);
	}
	if (t)
		atomic_store(cache_entry(thread_pointer()), t);
	if (t && p->pages && !p->pages_begun) {
		p->pages_begun = true;
		pages_begin();
	}
	errno = saved;
	return t;
}

void thread_give_up(void)
{
	atomic_store(&thread_off, true);
	atomic_store(&thread_wiped->process, NULL);
}
