/* SPDX-License-Identifier: MIT */
/*
 * The memory that a recorded program and msrec share: one memfd, mapped by both. The program writes events, msrec reads them.
 * After the mapping is made no descriptor, socket or file is needed, so a program may close descriptors, chroot, or
 * change its user.
 *
 *   family      one for a run of msrec: options, and SHM_SEGMENTS segments
 *   segment     one process: who it is, its modules, and its rings
 *   ring        one thread: a byte stream of events, single producer, single consumer
 *
 * A process claims a free segment with one compare-and-swap, so a forked child needs no help from msrec; a thread claims a free
 * ring in the same way. A robust mutex that is never unlocked holds each ring, and the family on msrec's side. The
 * kernel marks the mutex when its owner dies or execs; by that the other side learns of it. Only touched pages exist.
 *
 * A program has access to the family, and to the parts of its own segment that it uses: what reads all memory of a process
 * (Memcheck's search for leaks) touches no other pages.
 *
 * Both sides come from one build; SHM_VERSION guards against a mix-up.
 */
#ifndef TRACE_RECORD_SHM_H
#define TRACE_RECORD_SHM_H

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "entry_plan.h"
#include "libc.h"
#include "module_table.h"
#include "mst_op.h"
#include "script_table.h"
#include "stack_counts.h"

#define SHM_MAGIC 0x6d73686d736872ull
#define SHM_VERSION 20u
#define SHM_ENV "MSREC_SHM" /* path of the memfd, for the preload library; private */

#define SHM_PAGE 4096u
#define SHM_SEGMENTS 256u
#define SHM_RINGS 1024u /* threads of a process at one time */
#define SHM_MODULES 4096u
#define SHM_MODULE_TEXT (1u << 20)
#define SHM_COMMAND_BYTES (128u << 10)
#define SHM_DEPTH_MAX 2048u      /* frames a stack, --depth */
#define SHM_MARGIN_STAMPS 20000u /* no CPU keeps a store, or a load ahead of it, pending for so long */

/* ---- rings ---- */

/* Ring sizes by ring id: the first threads of a process are the busy ones. */
#define SHM_RING_CLASSES 4
static const struct shm_ring_class {
	uint32_t first; /* ring id */
	uint32_t bytes; /* a power of two, and all records fit the smallest */
} shm_ring_classes[SHM_RING_CLASSES + 1] = {
	{ 0, 4u << 20 }, { 4, 1u << 20 }, { 64, 256u << 10 }, { 256, 64u << 10 }, { SHM_RINGS, 0 },
};

/* Bytes of the data of all rings before `ring_id`; SHM_RINGS: of all rings. */
static inline uint64_t shm_data_before(uint32_t ring_id)
{
	uint64_t bytes = 0;

	for (const struct shm_ring_class *c = shm_ring_classes; c->first < ring_id; c++)
		bytes += (uint64_t)((ring_id < c[1].first ? ring_id : c[1].first) - c->first) * c->bytes;
	return bytes;
}

enum shm_ring_state {
	SHM_RING_FREE = 0,
	SHM_RING_CLAIMED = 1, /* being set up by its thread */
	SHM_RING_USED = 2,    /* until msrec has seen the owner gone and everything read */
};

struct shm_ring {
	/* The producer's line. */
	_Atomic uint64_t head;       /* bytes written since the segment was made; release */
	_Atomic uint64_t null_frees; /* free(NULL) calls */
	_Atomic uint64_t lost;       /* events dropped, by all threads with this ring */
	char pad_head[40];
	/* The consumer's line. */
	_Atomic uint64_t tail;  /* bytes read; release */
	_Atomic uint32_t space; /* futex: changes when the consumer has made room for a waiter */
	char pad_tail[52];
	/* Seldom used. */
	_Atomic uint32_t state;   /* enum shm_ring_state */
	_Atomic uint32_t waiting; /* the producer sleeps on `space` */
	uint32_t tid;
	uint32_t use;     /* counts the threads that had this ring */
	uint64_t pointer; /* the thread's pthread_t, which later threads may have again */
	uint64_t began;   /* stamp */
	uint32_t within;  /* ring id + 1 of the thread's first ring, if this is a nested one; 0: it is not */
	_Atomic uint32_t
		ended; /* `use` whose thread had ended before the process began to end, or to execute; 0: none */
	struct stack_counts stacks; /* of all threads with this ring */
	pthread_mutex_t owner;      /* robust; locked by the thread for its life */
};

/* ---- phases ---- */

/* What a process records. In the order in which less is recorded. */
enum shm_phase {
	SHM_UNSET = 0, /* it has not begun */
	SHM_ON = 1,
	SHM_OFF =
		2, /* after it was on: no blocks that come, but the frees, which may be of blocks that came before */
	SHM_DORMANT = 3, /* it was never on: neither */
};

/* ---- segments ---- */

enum shm_segment_state {
	SHM_SEGMENT_FREE = 0,
	SHM_SEGMENT_CLAIMED = 1,
	SHM_SEGMENT_LIVE = 2,
};

#define SHM_NO_SEGMENT UINT32_MAX

#define SHM_EXITS 0x100u /* in exit_status: there is one */

struct shm_segment {
	_Atomic uint32_t rings_used;  /* rings with ids below this have been used at some time */
	_Atomic uint32_t forks;       /* numbers the forks of this process from 1 */
	uint32_t pid;                 /* in the process's own namespace */
	uint32_t outer_pid;           /* in that of the /proc it sees, which is msrec's; 0: it sees none */
	uint32_t parent;              /* segment of the process this one forked from */
	uint32_t parent_fork;         /* number of that fork; 0 = not known */
	_Atomic uint32_t ringless;    /* calls of threads that have no ring */
	_Atomic uint32_t rings_freed; /* by msrec, of threads that are gone */
	_Atomic uint32_t refused;     /* msrec will not read this segment: the process stops recording */
	_Atomic uint32_t unwatched;   /* not all page calls can be recorded, with --pages */
	_Atomic uint32_t executing;   /* the process is about to be another program */
	_Atomic uint32_t exit_status; /* it is about to end: SHM_EXITS and its status; else 0 */
	uint32_t patched;             /* the entries of the program's own allocator lead to the recorder */
	uint32_t unowned;             /* its rings have no owners; they end with the process */
	_Atomic uint32_t phase;       /* enum shm_phase; each side may change it */
	uint64_t start;               /* stamp */
	uint64_t pid_space;           /* namespace of `pid`; 0: not known */
	_Atomic uint32_t command_bytes;
	struct shm_ring rings[SHM_RINGS];
};

#define SHM_ROUND(n) (((uint64_t)(n) + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE)
#define SHM_MODULES_BYTES SHM_ROUND(module_table_bytes(SHM_MODULES, SHM_MODULE_TEXT))
#define SHM_SCRIPTS_BYTES SHM_ROUND(sizeof(struct script_table))
#define SHM_SEGMENT_BYTES                                                                                    \
	(SHM_ROUND(sizeof(struct shm_segment)) + SHM_MODULES_BYTES + SHM_COMMAND_BYTES + SHM_SCRIPTS_BYTES + \
	 shm_data_before(SHM_RINGS))

/* ---- programs that are not recorded ---- */

#define SHM_SKIPS 16u       /* at a time; msrec takes them each round */
#define SHM_SKIP_PATH 1000u /* bytes of a path that are kept, with its NUL */

enum shm_skip_state {
	SHM_SKIP_FREE = 0,
	SHM_SKIP_CLAIMED = 1,
	SHM_SKIP_READY = 2,
};

enum shm_skip_reason {
	SHM_SKIP_STATIC = 1,  /* statically linked */
	SHM_SKIP_PRIVILEGED,  /* the loader ignores LD_PRELOAD */
	SHM_SKIP_SANITIZER,   /* refuses to start with the recorder */
	SHM_SKIP_LIBRARY,     /* another C library */
	SHM_SKIP_MACHINE,     /* another loader: 32 bits, or another processor */
	SHM_SKIP_ENVIRONMENT, /* the caller has taken the recorder out of the environment */
	SHM_SKIP_VALGRIND,    /* runs under Valgrind */
	SHM_SKIP_LOADER,      /* the recorder's libraries cannot be read: another root or user */
	SHM_SKIP_MEMORY,      /* the shared memory cannot be opened: another user, another /proc */
	SHM_SKIP_WIPING,      /* no memory that a forked child finds zeroed */
};

/* A program that a recorded process is about to execute, or has become, and that is not recorded. */
struct shm_skip {
	_Atomic uint32_t state; /* enum shm_skip_state */
	uint32_t reason;
	char path[SHM_SKIP_PATH];
};

/* ---- allocators in programs ---- */

enum shm_request_state {
	SHM_REQUEST_FREE = 0,
	SHM_REQUEST_ASKED = 1,
	SHM_REQUEST_ANSWERED = 2,
};

/* The state of a request, with the asking process's id in the namespace of msrec's /proc. */
#define SHM_REQUEST(pid, state) ((uint32_t)(pid) << 2 | (state))
#define SHM_REQUEST_STATE(word) ((word)&3)
#define SHM_REQUEST_PID(word) ((word) >> 2)

/* A process asks for the plan of the program that it has become, which msrec did not know before. One at a time. */
struct shm_plan_request {
	_Atomic uint32_t state; /* SHM_REQUEST(), or SHM_REQUEST_FREE; futex */
	struct entry_plan plan; /* the answer; empty: there is none */
};

/* ---- the family ---- */

#define SHM_PATTERNS 4096u /* bytes of a list of patterns, with its NUL */

/*
 * msrec sets the members from `magic` to `entries` before any program maps the family; they never change. The others
 * are counters and futexes: programs write all but `epoch`, `asleep` and `collector`, which msrec writes. `segments_used`
 * never falls; `full` implies that all segments were claimed.
 */
struct shm_family {
	uint64_t magic;
	uint32_t version;
	uint32_t depth;         /* frames to keep */
	uint32_t timer_ms;      /* CPU time from sample to sample of stack depths; 0: none */
	uint64_t sample_bytes;  /* mean distance of sample points; 0: all blocks are recorded */
	uint8_t use_tsc;        /* stamps are rdtsc, else CLOCK_MONOTONIC ns */
	uint8_t trace_children; /* exec'd programs are recorded: the environment stays */
	uint8_t libc_freeres, cxx_freeres;
	uint8_t free_stacks;  /* frees have stacks */
	uint8_t usable;       /* the bytes that the allocator gave are recorded */
	uint8_t stacks;       /* stack depths are recorded */
	uint8_t maps;         /* the program's calls of mmap and its like are recorded */
	uint8_t pages;        /* all page calls are recorded, libc's, too */
	uint8_t instructions; /* counts of instructions are recorded */
	uint8_t scripts;      /* the frames of scripts are parts of stacks */
	uint8_t fixed;        /* recording cannot be switched: what is followed would have gaps */
	char children_skip[SHM_PATTERNS], children_only[SHM_PATTERNS]; /* see child_filter.h; "": none */
	struct entry_plan entries;      /* of an allocator that is linked into the program */
	_Atomic uint32_t phase;         /* of programs that begin; msrec writes it */
	_Atomic uint32_t begun;         /* a program of the family has begun */
	_Atomic uint32_t segments_used; /* segments below this have been used at some time */
	_Atomic uint32_t unrecorded;    /* processes that found no free segment */
	_Atomic uint32_t
		full; /* a process has waited for a segment in vain: no other waits until msrec has freed one */
	_Atomic uint32_t untimed;              /* threads that --timer does not sample */
	_Atomic uint32_t uncounted;            /* threads whose instructions are not counted */
	_Atomic uint32_t doorbell;             /* futex: rung when msrec should look */
	_Atomic uint32_t asleep;               /* msrec waits on the doorbell */
	_Atomic uint32_t states[SHM_SEGMENTS]; /* of the segments: enum shm_segment_state */
	_Atomic uint32_t unsaid;               /* programs that found no room in `skips` */
	struct shm_skip skips[SHM_SKIPS];
	struct shm_plan_request plan_request;
	pthread_mutex_t collector; /* robust; locked by msrec for its life */
	/* On a cache line of its own: every event reads it. */
	_Alignas(64) _Atomic uint32_t epoch; /* changes with each round of msrec over the rings */
};

#define SHM_FAMILY_BYTES SHM_ROUND(sizeof(struct shm_family))

static inline uint64_t shm_bytes(uint32_t segments)
{
	return SHM_FAMILY_BYTES + segments * SHM_SEGMENT_BYTES;
}

static inline struct shm_segment *shm_segment(struct shm_family *family, uint32_t i)
{
	return (struct shm_segment *)((char *)family + SHM_FAMILY_BYTES + i * SHM_SEGMENT_BYTES);
}

static inline struct module_table *shm_modules(struct shm_segment *segment)
{
	return (struct module_table *)((char *)segment + SHM_ROUND(sizeof(struct shm_segment)));
}

/* The first SHM_COMMAND_BYTES of the program's arguments, each with its NUL, for processes that soon end. */
static inline char *shm_command(struct shm_segment *segment)
{
	return (char *)shm_modules(segment) + SHM_MODULES_BYTES;
}

static inline struct script_table *shm_scripts(struct shm_segment *segment)
{
	return (struct script_table *)(shm_command(segment) + SHM_COMMAND_BYTES);
}

static inline const struct shm_ring_class *shm_ring_class(uint32_t ring_id)
{
	const struct shm_ring_class *c = shm_ring_classes;

	while (ring_id >= c[1].first)
		c++;
	return c;
}

static inline uint32_t shm_ring_bytes(uint32_t ring_id)
{
	return shm_ring_class(ring_id)->bytes;
}

/* The data of rings lie one behind the other; those of ring 0 follow what the process itself needs. */
static inline uint8_t *shm_ring_data(struct shm_segment *segment, uint32_t ring_id)
{
	return (uint8_t *)shm_scripts(segment) + SHM_SCRIPTS_BYTES + shm_data_before(ring_id);
}

/* Claims segment `i` if it is free. */
static inline bool shm_claim(struct shm_family *family, uint32_t i)
{
	uint32_t state = SHM_SEGMENT_FREE, used = atomic_load(&family->segments_used);

	if (!atomic_compare_exchange_strong(&family->states[i], &state, SHM_SEGMENT_CLAIMED))
		return false;
	while (used <= i && !atomic_compare_exchange_weak(&family->segments_used, &used, i + 1))
		;
	return true;
}

/* Makes the mutex the calling thread's until it is gone. */
static inline void shm_lock_for_life(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attr);
	pthread_mutex_lock(mutex);
	pthread_mutexattr_destroy(&attr);
}

/*
 * The same for a mutex whose owner is gone. The mutex is not initialised again, because msrec may be reading it. The call
 * does not wait, because only one thread can have claimed the ring.
 */
static inline void shm_take_over(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex) == EOWNERDEAD)
		pthread_mutex_consistent(mutex);
}

static inline _Atomic uint32_t *shm_owner_word(pthread_mutex_t *mutex)
{
	return (_Atomic uint32_t *)mutex + LIBC_MUTEX_WORD;
}

/* Whether the thread that locked a robust mutex is gone: dead, or its process became another program. */
static inline bool shm_owner_gone(pthread_mutex_t *mutex)
{
	return atomic_load_explicit(shm_owner_word(mutex), memory_order_acquire) & FUTEX_OWNER_DIED;
}

/* The owner of the mutex goes before its thread ends. */
static inline void shm_leave(pthread_mutex_t *mutex)
{
	atomic_fetch_or(shm_owner_word(mutex), FUTEX_OWNER_DIED);
}

/* ---- events ---- */

/*
 * A record is a sequence of 64-bit words that never wraps around the ring's end:
 *
 *     head     op, flags, and 48 bits of payload
 *     stamp    with SHM_STAMPED; without, the event comes right after the one before it
 *     wide     with SHM_WIDE: the size, or the value, that does not fit the head
 *     and as the op has them: address, old address, alignment (SHM_ALIGNED), usable size (SHM_USABLE)
 *
 * The payload of a call with a stack is the node of the stack's innermost frame (24 bits) and the size (24 bits). For all other
 * ops it is a value: the address of a free, the number that goes with a marker.
 *
 * Stacks form a tree of frames that the reader rebuilds. SHM_OP_NODE defines a node, whose number may have had another meaning
 * before: from here on it is the frame at `pc` below the node `parent` (0: outermost; SHM_CUT: outermost, but the frames
 * outside of it were not looked at). SHM_PAD fills the ring up to its end.
 */
enum shm_op {
	/* Those of mst_op.h, and: */
	SHM_OP_FREE = 128,     /* without a stack */
	SHM_OP_FREELIKE = 129, /* the same of a custom block */
	SHM_OP_NODE = 130,
	SHM_OP_THREAD = 131, /* the value: the thread of the records that follow */
	SHM_OP_SP_CHANGES =
		132, /* SHM_SP_CHANGE_BYTES bytes of changes of the stack pointer: the operands, then the value */
	SHM_OP_COUNT =
		133, /* the value: instructions that the thread has executed since the last such record */
	SHM_OP_MOVING =
		134, /* before a realloc of the block at that address, which may be another thread's before the call returns */
	SHM_OP_NAME = 136, /* the value: a thread's pthread_t; the operands: its new name, cut at 16 bytes */
	SHM_OP_DELETE = 137, /* as FREE, of operator delete: with SHM_USABLE the size that it was given */
	SHM_OP_DELETE_ARRAY = 138,
	SHM_OP_MARK =
		139, /* a part of a mark's name: the value as SHM_MARK() has it; the operands: its bytes */
	SHM_OP_NO_FORK = 135, /* the value: the number of a fork that has failed after its marker */
	SHM_PAD = 255,
};

enum shm_flag {
	SHM_FAILED = 1,
	SHM_OVERFLOW = 2, /* of a free: which function made it is not known */
	SHM_STAMPED = 4,
	SHM_USABLE = 8, /* the record has the bytes that the allocator gave */
	SHM_WIDE = 16,
	SHM_ALIGNED = 32,
	SHM_INVALID = 128,   /* of a failed call: the alignment was refused */
	SHM_FREE_STACK = 64, /* of RESIZEINPLACE: its stack is that of the old block's free, too */
};

#define SHM_NODES (1u << 18) /* node numbers are below this; there is room for 24 bits */
#define SHM_CUT 0xffffffu    /* as the parent of SHM_OP_NODE */
#define SHM_RECORD_WORDS 7u  /* at most */
#define SHM_SP_CHANGE_BYTES 22u
#define SHM_NAME_BYTES 16u

/*
 * A mark's name of `size` bytes comes in parts of SHM_MARK_BYTES, one record after the other, of which the last is the mark.
 * Each says at which byte it begins. A name without bytes is one part.
 */
#define SHM_MARK_BYTES 16u
#define SHM_MARK_MOST 255u
#define SHM_MARK(at, size) ((uint64_t)(at) << 16 | (size))
#define SHM_MARK_AT(value) ((uint32_t)((value) >> 16))
#define SHM_MARK_SIZE(value) ((uint32_t)(value)&0xffff)

#define SHM_OP(head) ((uint8_t)(head))
#define SHM_FLAGS(head) ((uint8_t)((head) >> 8))
#define SHM_VALUE(head) ((head) >> 16)
#define SHM_NODE(head) ((uint32_t)((head) >> 16) & 0xffffff)
#define SHM_SIZE(head) ((uint32_t)((head) >> 40))
#define SHM_PARENT(head) SHM_SIZE(head) /* of SHM_OP_NODE */

static inline uint64_t shm_head(uint8_t op, uint8_t flags, uint64_t value)
{
	return op | (uint64_t)flags << 8 | value << 16;
}

/* The value of a call with a stack, and of SHM_OP_NODE with the parent for the size. */
static inline uint64_t shm_call_value(uint32_t node, uint64_t size)
{
	return node | size << 24;
}

static inline bool shm_is_wide_size(uint64_t size)
{
	return size >> 24 != 0;
}

/* Whether a value must go into a word of its own. */
static inline bool shm_is_wide(uint64_t value)
{
	return value >> 48 != 0;
}

/* Whether the op is a call with a stack, or a page event, which has one, too. */
static inline bool shm_has_stack(uint8_t op)
{
	return op < 32 || mst_op_is_page(op);
}

/* Operand words that the op has, without those that flags add. */
static inline unsigned shm_operands(uint8_t op)
{
	switch (op) {
	case MST_OP_REALLOC: /* and its like: also the old address */
	case MST_OP_REALLOC_MOVED:
	case MST_OP_REALLOC_IN_PLACE:
	case MST_OP_REALLOC_FREE:
	case SHM_OP_SP_CHANGES:
	case SHM_OP_NAME:
	case SHM_OP_MARK:
	case MST_OP_PAGE_MREMAP:
		return 2;
	case MST_OP_MREMAP_MOVED: /* the old length */
	case MST_OP_MREMAP_IN_PLACE:
	case SHM_OP_NODE:
		return 1;
	default:
		return shm_has_stack(op) ? 1 : 0;
	}
}

/* Words of a whole record. */
static inline unsigned shm_words(uint64_t head)
{
	/* The four flags that add a word are bits of an index of hexadecimal digits. */
	const unsigned optional = 0x4332322132212110u >> (SHM_FLAGS(head) / SHM_STAMPED % 16 * 4) & 15;

	_Static_assert((SHM_STAMPED | SHM_USABLE | SHM_WIDE | SHM_ALIGNED) == 15 * SHM_STAMPED, "in a row");
	return 1 + shm_operands(SHM_OP(head)) + optional;
}

#endif
