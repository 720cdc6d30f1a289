/* SPDX-License-Identifier: MIT */
/*
 * The frames of scripts on a stack: CPython 3.11 to 3.13.
 *
 * One C function, the eval function, runs Python code. Each of its C frames has a record whose distance from the frame's CFA is
 * the same for all. Up to 3.12 the record (CPython: _PyCFrame) names the Python frame that runs there; that one names its
 * caller, and so on, up to the Python frame with which the C frame began. So what a thread runs follows from its own C stack:
 * no lock of the interpreter is needed, and no other thread's frames are read.
 *
 * In 3.13 the record is a frame itself (CPython: entry_frame), the caller of the first Python frame of the C frame. It names the
 * Python frame that called the C frame, so the one that runs in the next C frame outwards. What runs in the innermost C frame
 * is in the thread's state, and where that is, in a slot of the thread's own (pthread_getspecific(3)), with the lock and without.
 *
 * A walk puts these frames between the eval function's and its caller's, as steps that depend on the words that were read.
 *
 * Nothing is read before the interpreter's version and layout have proved to be known ones. Nothing is written to the
 * interpreter but one pointer, the function that frees code objects: behind it the recorder learns which addresses may soon
 * be other code's.
 *
 * Any thread may call these functions at any time. They never allocate or change errno; see script_codes.h for the lock.
 */
#ifndef PRELOAD_SCRIPTS_H
#define PRELOAD_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attached.h"
#include "cfi.h"
#include "export.h"
#include "script_table.h"
#include "walk.h"

/* Before modules_init(): functions go into `table`. Not `wanted`: nothing is done. */
void scripts_begin(struct script_table *table, bool wanted);

/* Before modules_after_fork(), in a forked child, or at another recording of the same process. */
void scripts_after_fork(struct script_table *table, bool wanted);

/* No interpreter is known: it may have gone unseen, since the recorder was not at work. */
void scripts_forget(void);

/* The interpreter's pointer that was replaced. msrec puts it back when it leaves a process that it was attached to. */
extern HIDDEN struct attached_pointer scripts_replaced;

/* Whether there is an interpreter. */
extern HIDDEN _Atomic bool scripts_present;

static inline bool scripts_are_present(void)
{
	return atomic_load_explicit(&scripts_present, memory_order_relaxed);
}

/* Whether code is a part of the eval function. */
bool scripts_runs(const struct cfi_function *function, struct cfi_work *work);

#define SCRIPT_ENTRY_READS 2u

struct script_entry {
	struct link reads[SCRIPT_ENTRY_READS]; /* what all this depends on */
	unsigned n;                            /* reads */
	bool linked;                           /* the first read is walk.next */
	uintptr_t innermost;                   /* the frame of a script */
	uintptr_t record;                      /* of the eval function's frame; 0: it has none */
};

/*
 * The walk is at a frame of the eval function that has that CFA: finds the innermost frame that it runs. False: that is not
 * known, and the step from the eval function's frame depends on what is not compared.
 */
bool scripts_enter(struct walk *w, uintptr_t cfa, struct script_entry *found);

/* What walk.next is at the present stack, before the first frame that runs scripts: where this thread has its state. */
uintptr_t scripts_own_state(void);

#define SCRIPT_READS 5u

struct script_frame {
	struct link reads[SCRIPT_READS]; /* what all this depends on; first the life of the frame's code */
	unsigned n;                      /* reads */
	uint64_t place;
	uintptr_t caller; /* 0: the eval function's caller, or not known */
	bool known;       /* else nothing is known, not even what it depends on */
	bool left_out;    /* as in the interpreter's own stacks */
};

/*
 * Looks at a frame that scripts_enter(), or a look at the frame that it has called, has found; `record` is that of the eval
 * function's frame.
 */
void scripts_look(struct walker *walker, uintptr_t record, uintptr_t frame, struct script_frame *found);

#endif
