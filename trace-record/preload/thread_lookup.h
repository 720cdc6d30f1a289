/* SPDX-License-Identifier: MIT */
/*
 * Finds the calling thread's state by its thread pointer. Another thread may have had that pointer before; so a state
 * is the caller's only while the owner of its ring is alive.
 */
#ifndef PRELOAD_THREAD_LOOKUP_H
#define PRELOAD_THREAD_LOOKUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "os.h"
#include "process_state.h"
#include "sample.h"
#include "thread_state.h"

#define THREAD_CACHE_BITS 10

/* Where threads found themselves last, by thread pointer: a short cut, checked at each use. */
extern HIDDEN struct thread *_Atomic thread_cache[1u << THREAD_CACHE_BITS];

/* The state of the calling thread; NULL if it has none. */
struct thread *thread_find(struct process *p);

static inline uintptr_t thread_pointer(void)
{
	return cpu_thread_pointer();
}

static inline bool thread_is(struct thread *t, uintptr_t tp)
{
	return !shm_owner_gone(&t->out.ring->owner) &&
	       atomic_load_explicit(&t->tp, memory_order_acquire) == tp;
}

static inline struct thread *_Atomic *thread_cache_entry(uintptr_t tp)
{
	return &thread_cache[(tp * 0x9e3779b97f4a7c15u) >> (64 - THREAD_CACHE_BITS)];
}

/* The calling thread's state, if the cache has it; else NULL. */
static inline struct thread *thread_known(void)
{
	const uintptr_t tp = thread_pointer();
	struct thread *t = atomic_load_explicit(thread_cache_entry(tp), memory_order_acquire);

	return __builtin_expect(t && process_now() && thread_is(t, tp), 1) ? t : NULL;
}

/* Where the thread emits at present, if it has emitted there before; else NULL. */
static inline struct thread *thread_innermost(struct thread *t)
{
	while (t && t->inside == EMITTING)
		t = t->nested;
	return t;
}

/*
 * While blocks are sampled: the calling thread's state if a block of `size` bytes is not in the sample, so that no event
 * is due. NULL: take the general path. The state may be that of an earlier thread with this thread
 * pointer; which thread's countdown goes on makes no difference.
 */
static inline struct thread *thread_unsampled(size_t size)
{
	const uintptr_t tp = thread_pointer();
	struct thread *t;

	if (__builtin_expect(!sample_on, 1))
		return NULL;
	t = atomic_load_explicit(thread_cache_entry(tp), memory_order_acquire);
	return __builtin_expect(t && atomic_load_explicit(&t->tp, memory_order_relaxed) == tp &&
					t->inside == OUTSIDE && size < t->countdown.left,
				1)
		       ? t
		       : NULL;
}

/* thread_unsampled() that also counts the block down. */
static inline bool thread_passes(size_t size)
{
	struct thread *t = thread_unsampled(size);

	if (t)
		t->countdown.left -= size + 1;
	return t;
}

/* Whether the free of a block needs no event because the block is not in the sample. */
static inline bool thread_frees_unsampled(const void *p)
{
	return __builtin_expect(sample_on, 0) && __builtin_expect(!sample_may_hold(sample_key(p)), 1);
}

#endif
