/* SPDX-License-Identifier: MIT */
/*
 * What the recorder knows of the process and of each of its threads, and how a thread finds its own.
 *
 * No thread-local storage: a TLS segment in a preloaded library makes the C library's own block for
 * each new thread larger, and what we measure must not depend on us. A thread finds its state by its
 * thread pointer, which another thread may have had before: so the owner of the ring must be alive.
 *
 * State that a forked child must not use is reached through one pointer in memory that the kernel
 * wipes on fork: the child finds NULL there, whatever way it was made, and sets itself up anew.
 * Nothing of the parent needs to be unlocked or repaired, because there is no lock to inherit.
 */
#ifndef PRELOAD_THREAD_H
#define PRELOAD_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "export.h"
#include "os.h"
#include "recorder.h"
#include "sample.h"
#include "shm.h"
#include "unwind.h"

#define THREAD_WAITS 100u /* sleeps before a thread goes on without what it waits for */
/* Milliseconds that one waits for a segment, or a ring, of somebody who is gone: as long as for room in a ring. */
#define THREAD_AWAITS 2000u
#define THREAD_CACHE_BITS 10

enum inside {
	OUTSIDE = 0,
	PUSHING, /* an event is being made: a call now comes from a signal handler, or from where one has jumped to */
	IN_NEW,
	IN_DELETE,
};

/* What is told besides the calls, before each of them. */
enum extra {
	EXTRA_DEPTH = 1, /* of the stack */
	EXTRA_COUNT = 2, /* of instructions */
};

/*
 * One recorded thread. Belongs to the slot: the next thread on the slot takes it over, setting `tp`
 * to 0 before it makes the ring's owner its own and to its thread pointer when all is ready. So who
 * finds the owner alive and then its own thread pointer is that owner.
 *
 * What comes inside an event has a slot of its own, `nested`, which stays the thread's. Who jumps out of the handler leaves
 * the event for ever, and is recorded there from then on.
 */
struct thread {
	_Atomic uintptr_t tp;
	struct shm_ring *ring;
	uint8_t *data;
	uint32_t size;
	uint32_t wrap;        /* bytes of the ring; see ring_turn() */
	uint32_t slot;        /* these five stay while the process is the same: anyone may read them */
	uint64_t head;        /* our copy; the ring's is what is published */
	uint64_t tail;        /* the ring's as last seen */
	uint64_t stamp_due;   /* from here on a record needs a stamp */
	uint64_t stamp;       /* the last one */
	uint32_t stamp_bytes; /* from one to the next */
	uint64_t limit_at;    /* see ring.h */
	uint8_t inside;       /* enum inside */
	bool lossy;           /* the last event was dropped: don't wait again until there is room */
	uint32_t at_fork;     /* number of the fork that this thread is at; 0: none */
	uint32_t last_fork;   /* of its last one */
	uint64_t null_frees;  /* calls of free(NULL) by the process before that fork */
	struct call new_call; /* the operator new in progress, and who called it */
	struct unwind_regs new_regs;
	const void *new_block; /* what malloc gave it, and how much */
	size_t new_usable;
	const void *deleting;
	uint64_t losses,
		told_losses; /* events dropped by threads on this slot; as far as the reader was told */
	uintptr_t top;       /* the highest stack pointer seen; 0: none */
	uint64_t told_depth; /* how deep below it the reader has been told that the stack is */
	struct counter counter;
	uint64_t counted; /* the counter as far as it was told, or as what it counted is our own work */
	int timer;        /* of --timer, the kernel's number and one; 0: none */
	uint32_t epoch;   /* the family's at the last stamp */
	uint32_t stamped; /* events with a stamp since then */
	uint64_t modules; /* modules_state when stacks were last told */
	struct sample_countdown countdown;
	struct unwind_stack *stack;
	uint32_t first_slot;   /* of the thread; others are for what comes inside an event */
	struct thread *nested; /* for what comes inside ours; NULL: nothing has */
	bool doubtful; /* one of the losses is an event inside which others came: none, if it goes on */
};

struct process {
	struct shm_family *family;
	struct shm_segment *segment;
	char path[64];             /* of the family's memory */
	_Atomic uint32_t segments; /* as many as are mapped with the family */
	bool apart;                /* our own is another one */
	uint32_t segment_number;
	uint32_t pid;
	uint32_t depth;
	int use_tsc;
	bool free_stacks;
	bool usable;
	bool maps, pages;
	bool forks_threads; /* at its last fork the process had more than one thread */
	bool left_threads; /* it, or one that it comes from, was forked from such a one: their locks stay locked */
	bool pages_begun;         /* the process, or the one that it was forked from, watches page calls */
	uint8_t extras;           /* enum extra */
	bool quick;               /* no option asks for more than the common records say */
	_Atomic bool many;        /* more than one ring is, or was, in use */
	_Atomic bool threaded;    /* by more than one thread */
	_Atomic uint32_t forking; /* the slot, and one, of the thread for whose fork others wait (gate.h) */
	_Atomic uint32_t forked;  /* times that the gate was opened again */
	_Atomic uintptr_t top;    /* of the thread whose fork made this process, until it has begun anew */
	uint64_t null_frees;      /* calls of free(NULL) before the fork that made this process */
	struct thread *_Atomic threads[SHM_RINGS]; /* by slot; release */
};

/* NULL until the first event, and again in a forked child. */
struct wiped {
	struct process *_Atomic process;
	_Atomic uintptr_t page_owner; /* the thread that makes a page call; see pages.c */
};

extern HIDDEN struct process the_process;
extern HIDDEN struct wiped *_Atomic thread_wiped; /* the same page for ever */
extern HIDDEN _Atomic bool thread_off;            /* recording has ended for good in this process */

/* Where threads found themselves last, by thread pointer; only a short cut. */
extern HIDDEN struct thread *_Atomic thread_cache[1u << THREAD_CACHE_BITS];

/* The slow half of thread_now(): a new thread, a new process, or the child of a fork. */
struct thread *thread_begin(void);

/* The state of the calling thread, if it has one. */
struct thread *thread_find(struct process *p);

/* For what the calling thread does inside an event of `t`, its own. NULL: it cannot be recorded. */
struct thread *thread_inside(struct thread *t);

/* With --timer: the stack of the calling thread is sampled from now on. */
void thread_start_timer(struct thread *t);

/* Recording ends for good: nobody reads. The program runs on at its own speed. */
void thread_give_up(void);

static inline uint64_t stamp_now(void)
{
	return os_stamp(the_process.use_tsc);
}

static inline uintptr_t thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

static inline struct process *process_now(void)
{
	struct wiped *page = atomic_load_explicit(&thread_wiped, memory_order_acquire);

	return page ? atomic_load_explicit(&page->process, memory_order_acquire) : NULL;
}

static inline bool is_own(struct thread *t, uintptr_t tp)
{
	return !shm_owner_gone(&t->ring->owner) && atomic_load_explicit(&t->tp, memory_order_acquire) == tp;
}

static inline struct thread *_Atomic *cache_entry(uintptr_t tp)
{
	return &thread_cache[(tp * 0x9e3779b97f4a7c15u) >> (64 - THREAD_CACHE_BITS)];
}

/* The calling thread's state, if that is found quickly. */
static inline struct thread *thread_known(void)
{
	const uintptr_t tp = thread_pointer();
	struct thread *t = atomic_load_explicit(cache_entry(tp), memory_order_acquire);

	return __builtin_expect(t && process_now() && is_own(t, tp), 1) ? t : NULL;
}

/* From here on calls by the thread come from signal handlers. Returns what it was inside before. */
static inline uint8_t thread_go_inside(struct thread *t)
{
	const uint8_t before = t->inside;

	t->inside = PUSHING;
	atomic_signal_fence(memory_order_seq_cst);
	return before;
}

static inline void thread_go_back(struct thread *t, uint8_t before)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->inside = before;
}

/* The calling thread's state; NULL if it cannot be recorded. */
static inline struct thread *thread_now(void)
{
	struct thread *t = thread_known();

	if (t)
		return t;
	if (atomic_load_explicit(&thread_off, memory_order_relaxed))
		return NULL;
	return thread_begin();
}

/* The same for what may come inside an event, which is told in another place. */
static inline struct thread *thread_here(void)
{
	struct thread *t = thread_now();

	return __builtin_expect(t && t->inside == PUSHING, 0) ? thread_inside(t) : t;
}

/*
 * While blocks are sampled: the calling thread's state if a block of `size` bytes is none of the sample, so
 * that nothing is to be told of it. A short cut, which doesn't ask whether the state is that of a thread
 * that had this thread pointer before: whose countdown goes on makes no difference. NULL: the long
 * way must be gone.
 */
static inline struct thread *thread_passing(size_t size)
{
	const uintptr_t tp = thread_pointer();
	struct thread *t;

	if (__builtin_expect(!sample_on, 1))
		return NULL;
	t = atomic_load_explicit(cache_entry(tp), memory_order_acquire);
	return __builtin_expect(t && atomic_load_explicit(&t->tp, memory_order_relaxed) == tp &&
					t->inside == OUTSIDE && size < t->countdown.left,
				1)
		       ? t
		       : NULL;
}

/* The same, and the block is counted. */
static inline bool thread_passes(size_t size)
{
	struct thread *t = thread_passing(size);

	if (t)
		t->countdown.left -= size + 1;
	return t;
}

/* Whether nothing is to be told of the free of a block because it is none of the sample. */
static inline bool thread_frees_unseen(const void *p)
{
	return __builtin_expect(sample_on, 0) && __builtin_expect(!sample_may_hold(sample_key(p)), 1);
}

#endif
