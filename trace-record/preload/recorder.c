/* SPDX-License-Identifier: MIT */
/*
 * Process and thread state, and the producer's side of the rings.
 *
 * No thread-local storage: a TLS segment in a preloaded library makes the C library's own block for
 * each new thread larger, and what we measure must not depend on us. A thread finds its state by its
 * thread pointer, which another thread may have had before: so the owner of the ring must be alive.
 *
 * State that a forked child must not use is reached through one pointer in memory that the kernel
 * wipes on fork: the child finds NULL there, whatever way it was made, and sets itself up anew.
 * Nothing of the parent needs to be unlocked or repaired, because there is no lock to inherit.
 */
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "modules.h"
#include "os.h"
#include "real.h"
#include "shm.h"

#define STACK_CAPACITY 16384u        /* frames remembered a thread; SHM_DEPTH_MAX must fit twice */
#define SPINS          200u          /* looks at a full ring before sleeping */
#define WAIT_MS        20u           /* one sleep */
#define WAITS          100u          /* sleeps before events are dropped: 2 s */

/* A stack pointer this far from the thread's others belongs to another stack: a handler's, a coroutine's. */
#define STACK_MOST     ((uintptr_t)256 << 20)

#define CACHE_BITS 10

enum inside {
	OUTSIDE = 0,
	PUSHING,       /* an event is being made: a call now comes from a signal handler */
	IN_NEW,
	IN_DELETE,
};

/*
 * One recorded thread. Belongs to the slot: the next thread on the slot takes it over, setting `tp`
 * to 0 before it makes the ring's owner its own and to its thread pointer when all is ready. So who
 * finds the owner alive and then its own thread pointer is that owner.
 */
struct thread {
	_Atomic uintptr_t tp;
	struct shm_ring *ring;
	uint8_t *data;
	uint32_t size;
	uint32_t slot;           /* these four stay while the process is the same: anyone may read them */
	uint64_t head;           /* our copy; the ring's is what is published */
	uint64_t tail;           /* the ring's as last seen */
	uint8_t inside;          /* enum inside */
	bool lossy;              /* the last event was dropped: don't wait again until there is room */
	uint32_t last_fork;      /* number of this thread's last fork */
	uint64_t null_frees;     /* calls of free(NULL) by the process before that fork */
	struct call new_call;    /* the operator new in progress, and who called it */
	struct unwind_regs new_regs;
	const void *new_block;   /* what malloc gave it, and how much */
	size_t new_usable;
	const void *deleting;
	uint64_t told_losses;
	uintptr_t top;           /* the highest stack pointer seen; 0: none */
	uint64_t told_depth;     /* how deep below it the reader has been told that the stack is */
	/* The reader's copy of frames [base, known) equals ours. */
	uint32_t base, known;
	struct unwind_stack *stack;
};

struct process {
	struct shm_family *family;
	struct shm_segment *segment;
	uint32_t segments;       /* as many as we could map */
	uint32_t segment_number;
	uint32_t pid;
	uint32_t depth;
	int use_tsc;
	bool free_stacks;
	bool usable;
	bool stacks, maps;
	_Atomic uintptr_t top;   /* of the thread whose fork made this process, until it has begun anew */
	uint64_t null_frees;     /* calls of free(NULL) before the fork that made this process */
	struct thread *_Atomic threads[SHM_RINGS];      /* by slot; release */
};

/* NULL until the first event, and again in a forked child. */
struct wiped {
	struct process *_Atomic process;
};

static struct process the_process;
static struct wiped *_Atomic wiped;      /* the same page for ever */
static _Atomic bool off;                 /* recording has ended for good in this process */
static _Atomic uint32_t setting_up;      /* the process that is at begin_process(); 0: none */

/* Where threads found themselves last, by thread pointer; only a short cut. */
static struct thread *_Atomic cache[1u << CACHE_BITS];

static uint64_t stamp_now(void)
{
	return os_stamp(the_process.use_tsc);
}

/* ---- the process ---- */

static struct shm_family *map_family(uint32_t *segments)
{
	static const uint32_t tries[] = { SHM_SEGMENTS, 16, 1 };
	char initial[64];
	const char *path = getenv(SHM_ENV);
	struct shm_family *family;

	/* Before libc's own constructor there is no environment (.preinit_array runs then). */
	if (!path && os_initial_variable(SHM_ENV, initial, sizeof(initial)))
		path = initial;
	for (size_t i = 0; path && i < sizeof(tries) / sizeof(*tries); i++) {
		family = os_map_shared(path, shm_bytes(tries[i]));
		if (!family)
			continue;
		if (family->magic != SHM_MAGIC || family->version != SHM_VERSION)
			return NULL;
		*segments = tries[i];
		return family;
	}
	return NULL;
}

/* A free segment, claimed, or SHM_NO_SEGMENT. */
static uint32_t claim_segment(struct shm_family *family, uint32_t segments)
{
	for (uint32_t i = 0; i < segments; i++) {
		uint32_t state = SHM_SEGMENT_FREE;

		uint32_t used = atomic_load(&family->segments_used);

		if (!atomic_compare_exchange_strong(&shm_segment(family, i)->state, &state,
						    SHM_SEGMENT_CLAIMED))
			continue;
		while (used <= i && !atomic_compare_exchange_weak(&family->segments_used, &used, i + 1))
			;
		return i;
	}
	return SHM_NO_SEGMENT;
}

static void ring_bell(struct shm_family *family)
{
	atomic_fetch_add(&family->bell, 1);
	if (atomic_load(&family->asleep))
		os_wake(&family->bell);
}

static inline uintptr_t thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* Where the events of a slot go in this process. */
static void place_thread(struct process *p, struct thread *t)
{
	t->ring = &p->segment->rings[t->slot];
	t->data = shm_ring_data(p->segment, t->slot);
	t->size = shm_ring_bytes(t->slot);
}

/* In the child of a fork: no thread state is anybody's. Returns the number of the fork. */
static uint32_t forget_threads(struct process *p)
{
	uint32_t fork = 0;

	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		struct thread *t = p->threads[i];

		if (t && atomic_load(&t->tp) == thread_pointer() && t->last_fork) {
			fork = t->last_fork;
			p->null_frees = t->null_frees;
			p->top = t->top;
		}
		if (t) {
			atomic_store(&t->tp, 0);
			place_thread(p, t);
		}
	}
	return fork;
}

/* Gives this process a segment; `parent` is the one inherited from before a fork. */
static bool open_process(struct process *p, uint32_t parent)
{
	const bool forked = parent != SHM_NO_SEGMENT;
	struct shm_segment *segment;

	if (!p->family)
		p->family = map_family(&p->segments);
	if (!p->family)
		return false;
	p->segment_number = claim_segment(p->family, p->segments);
	if (p->segment_number == SHM_NO_SEGMENT) {
		atomic_fetch_add(&p->family->unrecorded, 1);
		return false;
	}
	segment = p->segment = shm_segment(p->family, p->segment_number);
	p->pid = os_pid();
	p->depth = p->family->depth;
	p->use_tsc = p->family->use_tsc;
	p->free_stacks = p->family->free_stacks;
	p->usable = p->family->usable;
	p->stacks = p->family->stacks;
	p->maps = p->family->maps;
	segment->pid = p->pid;
	segment->parent_pid = os_parent_pid();
	segment->parent = parent;
	segment->parent_fork = forked ? forget_threads(p) : 0;
	segment->start = os_stamp(p->use_tsc);
	shm_modules(segment)->capacity = SHM_MODULES;
	shm_modules(segment)->text_capacity = SHM_MODULE_TEXT;
	if (forked)
		modules_after_fork(shm_modules(segment));
	else
		modules_init(shm_modules(segment), real.find_object, stamp_now);
	atomic_store(&segment->state, SHM_SEGMENT_LIVE);
	ring_bell(p->family);
	return true;
}

static bool set_up_process(struct process *p, uint32_t pid)
{
	uint32_t parent = SHM_NO_SEGMENT;

	if (!wiped)
		wiped = os_map_wiped_on_fork();
	if (p->segment && p->pid != pid)
		parent = p->segment_number;
	if (!wiped || !open_process(p, parent))
		return false;
	atomic_store_explicit(&wiped->process, p, memory_order_release);
	return true;
}

static inline struct process *process_now(void)
{
	struct wiped *page = atomic_load_explicit(&wiped, memory_order_acquire);

	return page ? atomic_load_explicit(&page->process, memory_order_acquire) : NULL;
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
		atomic_store(&off, true);
	atomic_store(&setting_up, 0);
	return process_now();
}

/* ---- threads ---- */

static struct shm_ring *claim_ring(struct process *p, uint32_t *slot)
{
	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		struct shm_ring *ring = &p->segment->rings[i];
		uint32_t state = SHM_RING_FREE;
		uint32_t used;

		if (atomic_load_explicit(&ring->state, memory_order_relaxed) != SHM_RING_FREE ||
		    !atomic_compare_exchange_strong(&ring->state, &state, SHM_RING_CLAIMED))
			continue;
		used = atomic_load(&p->segment->rings_used);
		while (used <= i && !atomic_compare_exchange_weak(&p->segment->rings_used, &used, i + 1))
			;
		*slot = i;
		return ring;
	}
	return NULL;
}

static struct thread *thread_memory(struct process *p, uint32_t slot)
{
	const size_t stack_bytes = unwind_stack_bytes(STACK_CAPACITY);
	struct thread *t = p->threads[slot];

	if (!t) {
		t = os_map(sizeof(*t) + 64 + stack_bytes);
		if (!t)
			return NULL;
		t->stack = (struct unwind_stack *)(((uintptr_t)(t + 1) + 63) & ~(uintptr_t)63);
		t->slot = slot;
		place_thread(p, t);
		atomic_store_explicit(&p->threads[slot], t, memory_order_release);
	}
	unwind_stack_init(t->stack, STACK_CAPACITY);
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

/* All slots are taken, but some by threads that are gone: msrec frees those when it gets to it. */
static struct shm_ring *await_ring(struct process *p, uint32_t *slot)
{
	static _Atomic uint32_t nobody_wakes;
	struct shm_ring *ring = NULL;

	for (unsigned i = 0; !ring && i < WAITS && any_owner_gone(p); i++) {
		if (shm_owner_gone(&p->family->collector))
			return NULL;
		ring_bell(p->family);
		os_wait(&nobody_wakes, 0, 1);
		ring = claim_ring(p, slot);
	}
	return ring;
}

/* Gives the calling thread a ring, or NULL. */
static struct thread *begin_thread(struct process *p)
{
	struct thread *t;
	struct shm_ring *ring;
	uint32_t slot;

	ring = claim_ring(p, &slot);
	if (!ring)
		ring = await_ring(p, &slot);
	if (!ring)
		return NULL;
	t = thread_memory(p, slot);
	if (!t) {
		atomic_store(&ring->state, SHM_RING_FREE);
		return NULL;
	}
	atomic_store(&t->tp, 0);
	t->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	t->tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	t->told_losses = atomic_load_explicit(&ring->lost, memory_order_relaxed);
	t->inside = OUTSIDE;
	t->lossy = false;
	t->last_fork = 0;
	t->base = t->known = 0;
	t->top = atomic_exchange(&p->top, 0);
	t->told_depth = 0;
	ring->tid = os_tid();
	if (ring->use++ == 0)
		shm_lock_for_life(&ring->owner);
	else
		shm_take_over(&ring->owner);
	atomic_store_explicit(&ring->state, SHM_RING_USED, memory_order_release);
	atomic_store(&t->tp, thread_pointer());
	return t;
}

static inline bool is_own(struct thread *t, uintptr_t tp)
{
	return !shm_owner_gone(&t->ring->owner) && atomic_load_explicit(&t->tp, memory_order_acquire) == tp;
}

/* The state of the calling thread, if it has one. */
static struct thread *find_thread(struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);

	for (uint32_t i = 0; i < n; i++) {
		struct thread *t = p->threads[i];

		if (t && atomic_load(&t->tp) == thread_pointer() && is_own(t, thread_pointer()))
			return t;
	}
	return NULL;
}

static inline struct thread *_Atomic *cache_entry(uintptr_t tp)
{
	return &cache[(tp * 0x9e3779b97f4a7c15u) >> (64 - CACHE_BITS)];
}

/* The slow half of thread_now(): a new thread, a new process, or the child of a fork. */
static __attribute__((noinline)) struct thread *thread_begin(void)
{
	const int saved = errno;
	struct process *p = process_now();
	struct thread *t = NULL;

	if (!p)
		p = begin_process();
	if (p) {
		t = find_thread(p);
		if (!t)
			t = begin_thread(p);
		if (!t)
			atomic_fetch_add(&p->segment->nested, 1);
	}
	if (t)
		atomic_store(cache_entry(thread_pointer()), t);
	errno = saved;
	return t;
}

/* The calling thread's state; NULL if it cannot be recorded. */
static inline struct thread *thread_now(void)
{
	const uintptr_t tp = thread_pointer();
	struct thread *t = atomic_load_explicit(cache_entry(tp), memory_order_acquire);

	if (__builtin_expect(t && process_now() && is_own(t, tp), 1))
		return t;
	if (atomic_load_explicit(&off, memory_order_relaxed))
		return NULL;
	return thread_begin();
}

/* The same, for recording: NULL too, and counted, if the thread is inside an event. */
static inline struct thread *thread_enter(void)
{
	struct thread *t = thread_now();

	if (!t)
		return NULL;
	if (__builtin_expect(t->inside == PUSHING, 0)) {
		atomic_fetch_add(&the_process.segment->nested, 1);
		return NULL;
	}
	return t;
}

/* ---- the ring ---- */

/* Recording ends for good: nobody reads. The program runs on at its own speed. */
static void give_up(void)
{
	atomic_store(&off, true);
	atomic_store(&wiped->process, NULL);
}

static inline uint64_t ring_room(struct thread *t)
{
	return t->size - (t->head - t->tail);
}

/* Waits for room, within bounds. */
static __attribute__((noinline)) bool ring_wait(struct thread *t, uint64_t bytes)
{
	struct shm_ring *ring = t->ring;

	for (unsigned i = 0; i < SPINS + WAITS; i++) {
		const uint32_t seen = atomic_load(&ring->space);

		t->tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (ring_room(t) >= bytes) {
			t->lossy = false;
			return true;
		}
		if (shm_owner_gone(&the_process.family->collector) ||
		    atomic_load(&the_process.segment->refused)) {
			give_up();
			return false;
		}
		if (t->lossy)
			return false;
		if (i < SPINS) {
			_mm_pause();
			continue;
		}
		ring_bell(the_process.family);
		atomic_store(&ring->waiting, 1);
		/* The reader looks at `waiting` after it has moved the tail: look once more. */
		if (atomic_load(&ring->tail) == t->tail)
			os_wait(&ring->space, seen, WAIT_MS);
		atomic_store(&ring->waiting, 0);
	}
	t->lossy = true;
	return false;
}

/* Room for a record of `words`, in one piece; NULL if there is none. */
static inline uint64_t *ring_reserve(struct thread *t, uint32_t words)
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

static inline void ring_publish(struct thread *t, uint32_t words)
{
	const uint64_t quarter = t->size / 4, old = t->head;

	t->head += (uint64_t)words * 8;
	/* Everything of the record is in place before the reader can see that it is there. */
	atomic_store_explicit(&t->ring->head, t->head, memory_order_release);
	if (__builtin_expect((old ^ t->head) & quarter, 0) &&
	    atomic_load_explicit(&the_process.family->asleep, memory_order_relaxed))
		ring_bell(the_process.family);
}

static void count_loss(struct thread *t)
{
	struct shm_ring *ring = t->ring;

	atomic_store_explicit(&ring->lost, atomic_load_explicit(&ring->lost, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static bool push_words(struct thread *t, uint64_t head, uint64_t value)
{
	uint64_t *w = ring_reserve(t, 3);

	if (!w)
		return false;
	w[0] = head;
	w[1] = stamp_now();
	w[2] = value;
	ring_publish(t, 3);
	return true;
}

/* The loss becomes an event as soon as there is room again. */
static bool tell_losses(struct thread *t)
{
	const uint64_t lost = atomic_load_explicit(&t->ring->lost, memory_order_relaxed);

	if (__builtin_expect(lost == t->told_losses, 1))
		return true;
	if (!push_words(t, shm_head(MST_OP_LOST, 0, 0, 0, 0), lost - t->told_losses))
		return false;
	t->told_losses = lost;
	return true;
}

/* ---- events ---- */

/* Which frames the reader must be told: [*from, n), and whether it must forget the outer ones. */
static bool choose_frames(struct thread *t, uint32_t n, uint32_t depth, uint32_t *from)
{
	const uint32_t needed = n > depth ? n - depth : 0;
	const bool reset = t->base > needed || t->known < t->base || n - t->known > 2 * depth;

	*from = t->known;
	if (reset) {
		/* More than needed, so that a deep recursion's way back costs little. */
		*from = n > 2 * depth ? n - 2 * depth : 0;
		t->base = *from;
	}
	return reset;
}

/* A call of `operands` words with its stack. */
static inline __attribute__((always_inline)) void
push_call(struct thread *t, enum mst_op op, uint8_t flags, uint8_t align_log2, const uint64_t *operand,
	  unsigned operands, const struct unwind_regs *regs)
{
	const uint64_t stamp = stamp_now();
	const uint32_t kept = unwind_capture(t->stack, regs);
	const uint32_t n = unwind_stack_depth(t->stack);
	uint32_t from, words;
	uint64_t *w;

	if (t->known > kept)
		t->known = kept;
	if (choose_frames(t, n, the_process.depth, &from))
		flags |= SHM_RESET;
	words = 2 + operands + (n - from);
	w = tell_losses(t) ? ring_reserve(t, words) : NULL;
	if (!w) {
		/* The reader doesn't get these frames: what it knows ends where they would begin. */
		if (flags & SHM_RESET)
			t->base = t->known = n;
		count_loss(t);
		return;
	}
	w[0] = shm_head((uint8_t)op, flags, align_log2, (uint16_t)(n - from), from);
	w[1] = stamp;
	w += 2;
	for (unsigned i = 0; i < operands; i++)
		*w++ = operand[i];
	for (const struct unwind_frame *f = unwind_stack_frames(t->stack); from < n; from++)
		*w++ = f[from].pc;
	ring_publish(t, words);
	t->known = n;
}

/* ---- the depth of stacks ---- */

/* How deep the stack is at `sp`, if that is a point of it. */
static bool measure_depth(struct thread *t, uintptr_t sp, uint64_t *depth)
{
	if (!t->top || (sp > t->top && sp - t->top < STACK_MOST))
		t->top = sp;
	*depth = t->top - sp;
	return sp <= t->top && *depth < STACK_MOST;
}

/* Comes before its event, stamp and all. If there is no room for it the next event will have one. */
static void push_depth(struct thread *t, uint64_t depth)
{
	if (depth != t->told_depth && tell_losses(t) &&
	    push_words(t, shm_head(MST_OP_STACK, 0, 0, 0, 0), depth))
		t->told_depth = depth;
}

static inline void tell_depth(struct thread *t, uintptr_t sp)
{
	uint64_t depth;

	if (__builtin_expect(the_process.stacks, 0) && measure_depth(t, sp, &depth))
		push_depth(t, depth);
}

/* `usable` is what the allocator gave, 0 if that isn't known or wanted. */
static void push_alloc(struct thread *t, const struct call *call, size_t usable, const struct unwind_regs *regs)
{
	uint64_t operand[4] = { (uintptr_t)call->result, call->size, (uintptr_t)call->old };
	unsigned operands = shm_operands((uint8_t)call->op);
	uint8_t flags = call->result ? 0 : SHM_FAILED;

	if (call->overflow)
		flags |= SHM_OVERFLOW;
	if (usable) {
		flags |= SHM_USABLE;
		operand[operands++] = usable;
	}
	push_call(t, call->op, flags, call->align_log2, operand, operands, regs);
}

/* Of a block that the allocator has just given itself: nobody else's may be asked about. */
static inline size_t usable_of(const struct call *call)
{
	if (!the_process.usable || !call->result || !real.malloc_usable_size || mst_op_is_custom(call->op))
		return 0;
	return real.malloc_usable_size((void *)call->result);
}

/* Whether a call is what the operator new in progress asks of malloc. */
static bool is_part_of_new(const struct thread *t, const struct call *call)
{
	const size_t wanted = t->new_call.size ? t->new_call.size : 1;
	const size_t align = (size_t)1 << t->new_call.align_log2;

	return call->size >= wanted && call->size - wanted < align;
}

void recorder_alloc(const struct call *call, const struct unwind_regs *regs)
{
	struct thread *t = thread_enter();
	uint8_t inside;

	if (!t)
		return;
	inside = t->inside;
	if (__builtin_expect(inside == IN_NEW, 0) && is_part_of_new(t, call)) {
		t->new_block = call->result;
		t->new_usable = usable_of(call);
		return;
	}
	t->inside = PUSHING;
	tell_depth(t, regs->sp);
	push_alloc(t, call, usable_of(call), regs);
	t->inside = inside;
}

/* `op` is SHM_OP_FREE or SHM_OP_FREELIKE, which has no stack. */
static inline void push_free(struct thread *t, uint8_t op, const void *p, const struct unwind_regs *regs)
{
	const uint8_t inside = t->inside;

	t->inside = PUSHING;
	if (regs)
		tell_depth(t, regs->sp);
	if (the_process.free_stacks && op == SHM_OP_FREE)
		push_call(t, MST_OP_FREE, 0, 0, &(const uint64_t){ (uintptr_t)p }, 1, regs);
	else if (!tell_losses(t) || !push_words(t, shm_head(op, 0, 0, 0, 0), (uintptr_t)p))
		count_loss(t);
	t->inside = inside;
}

static inline void release(uint8_t op, const void *p, const struct unwind_regs *regs)
{
	struct thread *t = thread_now();

	if (!t || (t->inside == IN_DELETE && p == t->deleting))
		return;
	if (t->inside == PUSHING)
		count_loss(t);
	else
		push_free(t, op, p, regs);
}

void recorder_free(const void *p, const struct unwind_regs *regs)
{
	release(SHM_OP_FREE, p, regs);
}

void recorder_freelike(const void *p)
{
	release(SHM_OP_FREELIKE, p, NULL);
}

void recorder_null_free(void)
{
	struct thread *t = thread_now();
	_Atomic uint64_t *n;

	if (!t || t->inside != OUTSIDE)
		return;
	n = &t->ring->null_frees;
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* ---- operators ---- */

bool recorder_new_enter(const struct call *call, const struct unwind_regs *regs)
{
	struct thread *t = thread_enter();

	if (!t || t->inside != OUTSIDE)
		return false;
	t->inside = IN_NEW;
	t->new_call = *call;
	t->new_block = NULL;
	t->new_regs = *regs;
	return true;
}

void recorder_new_leave(const void *result)
{
	struct thread *t = thread_now();

	if (!t || t->inside != IN_NEW)
		return;
	t->inside = PUSHING;
	t->new_call.result = result;
	tell_depth(t, t->new_regs.sp);
	push_alloc(t, &t->new_call, t->new_block == result ? t->new_usable : 0, &t->new_regs);
	t->inside = OUTSIDE;
}

bool recorder_delete_enter(const void *p, const struct unwind_regs *regs)
{
	struct thread *t = thread_now();

	/* Inside another operator it is the free within that is recorded. */
	if (!t || t->inside != OUTSIDE)
		return false;
	push_free(t, SHM_OP_FREE, p, regs);
	t->inside = IN_DELETE;
	t->deleting = p;
	return true;
}

void recorder_delete_leave(void)
{
	struct thread *t = thread_now();

	if (t && t->inside == IN_DELETE)
		t->inside = OUTSIDE;
}

/* ---- marks ---- */

/* Calls of free(NULL) so far, by all threads. */
static uint64_t count_null_frees(const struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);
	uint64_t sum = p->null_frees;

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++)
		sum += atomic_load_explicit(&p->segment->rings[i].null_frees, memory_order_relaxed);
	return sum;
}

void recorder_mark(enum mst_op op)
{
	struct thread *t = thread_enter();
	uint64_t value = 0;

	if (!t || t->inside != OUTSIDE)
		return;
	t->inside = PUSHING;
	if (op == MST_OP_START)
		tell_depth(t, (uintptr_t)__builtin_frame_address(0));
	if (op == MST_OP_FORK) {
		value = t->last_fork = atomic_fetch_add(&the_process.segment->forks, 1) + 1;
		t->null_frees = count_null_frees(&the_process);
	} else if (op == MST_OP_EXIT) {
		value = count_null_frees(&the_process);
	}
	if (!tell_losses(t) || !push_words(t, shm_head((uint8_t)op, 0, 0, 0, 0), value))
		count_loss(t);
	t->inside = OUTSIDE;
}

/* A thread that is not known yet, or inside an event, isn't sampled. */
void recorder_sample(uintptr_t sp)
{
	struct process *p = process_now();
	struct thread *t = p ? find_thread(p) : NULL;

	if (!t || t->inside != OUTSIDE)
		return;
	t->inside = PUSHING;
	tell_depth(t, sp);
	t->inside = OUTSIDE;
}

uint32_t recorder_timer(void)
{
	struct process *p = process_now();

	return p ? p->family->timer_ms : 0;
}

void recorder_map(enum mst_op op, bool failed, size_t old_size, size_t size, uintptr_t sp)
{
	struct process *p = process_now();
	struct thread *t = p && !p->maps ? NULL : thread_enter();
	const bool two = op == MST_OP_MREMAP_MOVED || op == MST_OP_MREMAP_IN_PLACE;
	const uint32_t words = two ? 4 : 3;
	uint8_t inside;
	uint64_t *w;

	if (!t || !the_process.maps)
		return;
	inside = t->inside;
	t->inside = PUSHING;
	tell_depth(t, sp);
	w = tell_losses(t) ? ring_reserve(t, words) : NULL;
	if (w) {
		w[0] = shm_head((uint8_t)op, failed ? SHM_FAILED : 0, 0, 0, 0);
		w[1] = stamp_now();
		w[2] = two ? old_size : size;
		w[words - 1] = size;
		ring_publish(t, words);
	} else {
		count_loss(t);
	}
	t->inside = inside;
}

/* dlclose() may come before the first event; the module table must be there to be told. */
static bool modules_ready(void)
{
	return thread_now() != NULL;
}

void recorder_closing_begin(void)
{
	if (modules_ready())
		modules_closing_begin();
}

void recorder_closing_end(void)
{
	if (modules_ready())
		modules_closing_end(stamp_now());
}

void recorder_after_fork(void)
{
	thread_now();
}

bool recorder_traces_children(bool *yes)
{
	struct process *p = process_now();

	if (!p || atomic_load(&off))
		return false;
	*yes = p->family->trace_children;
	return true;
}

bool recorder_freeres_wanted(bool *libc, bool *cxx)
{
	struct process *p = process_now();

	if (!p || atomic_load(&off) || p->pid != os_pid())
		return false;
	*libc = p->family->libc_freeres;
	*cxx = p->family->cxx_freeres;
	return true;
}
