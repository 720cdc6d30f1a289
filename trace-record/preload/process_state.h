/* SPDX-License-Identifier: MIT */
/*
 * The state of the recorded process: the memory that it shares with msrec, the options of the recording, and its
 * threads by ring id.
 *
 * State that a forked child must not use is reached through one pointer in memory that the kernel wipes on fork. The
 * child finds NULL there, by whatever system call it was made, and begins anew. Nothing of the parent needs to be
 * unlocked or repaired, because there is no lock to inherit.
 */
#ifndef PRELOAD_PROCESS_STATE_H
#define PRELOAD_PROCESS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "export.h"
#include "os.h"
#include "shm.h"

struct thread;

/* What is emitted besides the calls, before each of them. */
enum extra {
	EXTRA_DEPTH = 1, /* of the stack */
	EXTRA_COUNT = 2, /* of instructions */
};

/* The family's options, copied when the process begins: shared memory is slower to reach. */
struct process_options {
	uint32_t depth; /* frames to keep */
	int use_tsc;
	uint8_t extras; /* enum extra */
	bool free_stacks, usable, maps, pages, scripts;
	bool plain; /* no option asks for more than plain records hold */
};

struct process_forks {
	bool threaded;    /* at its last fork the process had more than one thread */
	bool stale_locks; /* an ancestor was forked while threads ran: locks of these threads stay locked */
	_Atomic uint32_t
		forking; /* ring id + 1 of the thread whose fork the others wait for (fork_barrier.h); 0: none */
	_Atomic uint32_t ended; /* counts the forks that have ended; a futex */
	_Atomic uintptr_t
		top; /* stack top of the thread that forked this process, until that thread begins anew */
	uint64_t null_frees; /* calls of free(NULL) before the fork that made this process */
};

struct process {
	struct shm_family *family;
	struct shm_segment *segment;
	char path[64];             /* of the family's memory */
	_Atomic uint32_t segments; /* mapped together with the family */
	bool apart;                /* `segment` is mapped by itself */
	uint32_t segment_number;
	_Atomic uint32_t rings_open;           /* of `segment`: the data of rings below this are accessible */
	uint64_t abandoned[SHM_SEGMENTS / 64]; /* a bit for each segment in whose place is private memory */
	uint32_t pid;
	struct process_options options;
	struct process_forks forks;
	bool pages_begun;         /* this process, or an ancestor that forked it, watches page calls */
	_Atomic bool many_rings;  /* more than one ring is, or was, in use: every record has a stamp */
	_Atomic bool threaded;    /* more than one thread has emitted */
	_Atomic uint32_t full_at; /* rings_freed + 1, when a thread found no ring; 0: none has */
	struct thread *_Atomic threads[SHM_RINGS]; /* by ring id; release */
};

/* Zero until the first event, and again in a forked child. */
struct wiped {
	struct process *_Atomic process;
	_Atomic uintptr_t page_owner; /* thread pointer of the thread inside a page call; see pages/pages.c */
};

extern HIDDEN struct process the_process;
extern HIDDEN struct wiped *_Atomic process_wiped; /* set once */
/* What is recorded (enum shm_phase): in the process's segment, or elsewhere while it has none. */
extern HIDDEN _Atomic uint32_t *_Atomic process_phase;

extern HIDDEN _Atomic bool process_off; /* recording has ended for good in this process */

extern HIDDEN _Atomic bool
	process_skipped; /* with all that the process executes, which will not find the recorder */

/* Before the segment that says the phase may be unmapped. */
void process_unset_phase(void);

/* Before the process ends, or executes another program, and the owners of all rings are gone: notes which were before. */
void process_note_ended_threads(struct process *p);

/* Ends recording for good, because msrec reads no more. The program runs on at its own speed. */
void process_give_up(void);

/* NULL: this process has not begun. */
static inline struct process *process_now(void)
{
	struct wiped *page = atomic_load_explicit(&process_wiped, memory_order_acquire);

	return page ? atomic_load_explicit(&page->process, memory_order_acquire) : NULL;
}

/* Before the epoch is read: a call in a new phase sees the new epoch, and takes a stamp behind the phase's marker. */
static inline uint32_t phase_now(void)
{
	return atomic_load_explicit(atomic_load_explicit(&process_phase, memory_order_relaxed),
				    memory_order_acquire);
}

/* Whether blocks that come are not recorded. */
static inline bool phase_is_quiet(void)
{
	return __builtin_expect(phase_now() >= SHM_OFF, 0);
}

/* Whether frees are not recorded, either. */
static inline bool phase_is_dormant(void)
{
	return __builtin_expect(phase_now() == SHM_DORMANT, 0);
}

static inline uint64_t stamp_now(void)
{
	return os_stamp(the_process.options.use_tsc);
}

#endif
