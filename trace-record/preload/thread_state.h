/* SPDX-License-Identifier: MIT */
/*
 * The state of a recorded thread.
 *
 * There is no thread-local storage: a TLS segment in a preloaded library makes the C library's own block for each new
 * thread larger, and the recorder must not change what it measures. thread_lookup.h finds a thread's state by
 * its thread pointer.
 */
#ifndef PRELOAD_THREAD_STATE_H
#define PRELOAD_THREAD_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "counter.h"
#include "registers.h"
#include "ring.h"
#include "sample.h"

struct unwind_stack;

enum inside {
	OUTSIDE = 0,
	EMITTING, /* in an event: a call now comes from a signal handler, or from where a handler has jumped to */
	IN_NEW,
	IN_DELETE,
};

/* The operator new or delete in progress (IN_NEW, IN_DELETE), or the function of an allocator in the program. */
struct thread_operator {
	struct call call; /* operator new */
	struct unwind_regs regs;
	const void *block; /* what malloc gave it, and how much */
	size_t usable;
	const void *inner; /* the last block that was recorded meanwhile; NULL: none */
	size_t inner_size;
	const void *deleting; /* the block that goes, of a realloc, too; NULL: none */
};

/* What goes with the calls of a thread, when that is wanted. */
struct thread_extras {
	uintptr_t top;          /* the highest stack pointer seen; 0: none */
	uint64_t emitted_depth; /* below `top`; the last that was emitted */
	struct counter counter; /* of instructions */
	uint64_t counted;       /* the counter as far as it was emitted, or counted the recorder's own work */
	int timer;              /* of --timer: the kernel's number + 1; 0: none */
};

struct thread_fork {
	uint32_t current;    /* number of the fork that this thread is in; 0: none */
	uint32_t last;       /* of its last one */
	uint64_t null_frees; /* calls of free(NULL) by the process before that fork */
};

/*
 * Belongs to the ring id: the next thread with the id takes the state over. It sets `tp` to 0 before it makes the ring's
 * owner its own, and to its thread pointer when all is ready. So a thread that finds the owner alive, and then its
 * own thread pointer, is that owner.
 *
 * What comes inside an event goes to a ring of its own, `nested`, which stays the thread's. A handler that jumps out
 * leaves the event for ever; from then on all of the thread's events go to the nested ring.
 */
struct thread {
	_Atomic uintptr_t tp;
	struct producer out;
	uint32_t ring_id; /* this, and out.ring, .data, .size and .wrap, stay while the process is the same */
	uint32_t first_ring_id; /* of the thread's outermost state */
	struct thread *nested;  /* NULL: nothing has come inside an event */
	uint8_t inside;         /* enum inside */
	struct unwind_stack *stack;
	uint64_t modules; /* modules_state when nodes were last emitted */
	struct sample_countdown countdown;
	struct thread_operator cxx;
	struct thread_extras extras;
	struct thread_fork fork;
	struct robust_list_head
		*locked; /* the C library's list of the thread's robust mutexes; NULL: not known */
};

/* From here on calls by the thread come from signal handlers. Returns what the thread was inside before. */
static inline uint8_t thread_begin_event(struct thread *t)
{
	const uint8_t before = t->inside;

	t->inside = EMITTING;
	atomic_signal_fence(memory_order_seq_cst);
	return before;
}

static inline void thread_end_event(struct thread *t, uint8_t before)
{
	RECORDER_ASSERT(t->inside == EMITTING && before <= IN_DELETE);
	atomic_signal_fence(memory_order_seq_cst);
	t->inside = before;
}

#endif
