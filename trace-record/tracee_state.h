/* SPDX-License-Identifier: MIT */
/* What is known of a recorded process, for the files that tracee.h consists of. Private. */
#ifndef TRACE_RECORD_TRACEE_STATE_H
#define TRACE_RECORD_TRACEE_STATE_H

#include "blocks.h"
#include "consumer.h"
#include "customs.h"
#include "frames.h"
#include "mst_limits.h"
#include "page_state.h"
#include "tids.h"
#include "tracee.h"

#define KIND_CACHE_BITS 13
#define FORKS_KEPT 16u          /* states kept for children that have not shown up yet */
#define FORK_WAIT_NS 500000000u /* so long another fork waits for one of them */

#define TIME_STAMPS 256u /* ticks or ns, a part of the trace's unit of time: so much later is not later */

/* The kind of a plain call, remembered. */
struct kind_entry {
	uint64_t call; /* see call_key(); 0: none */
	uint32_t kind;
	uint32_t old; /* of the block whose place it takes; MST_NONE: it takes none's */
};

/* The state of the process at a fork, for the child. */
struct fork_state {
	uint32_t number;
	struct tracee *child; /* NULL: there was no memory for it, so the child cannot be recorded */
};

struct tracee {
	struct shm_segment *segment;
	struct mst_writer *writer;
	bool has_file;
	uint32_t depth;
	int64_t step;         /* events that tracee_drain() takes at most */
	struct blocks blocks; /* the allocator's own */
	struct customs customs;
	struct frames frames;
	struct kind_entry *kinds;
	uint64_t at_stamp; /* what the writer was told last of time and thread */
	uint32_t at_thread;
	struct consumer *consumers;
	struct tids tids; /* of a process with one ring for all threads */
	uint32_t n_consumers;
	uint64_t mapped; /* bytes, by the program's own mmap */
	struct page_state
		*pages; /* by any call; NULL: there will be no other file, or they aren't recorded */
	uint64_t unknown_frees, implied_frees, lost;
	uint64_t null_frees;        /* calls of free(NULL) told ... */
	uint64_t null_frees_before; /* ... and those of them in former files */
	bool exited;                /* the exit handlers are done */
	uint64_t stranded;          /* blocks without an address that the process has from before a fork */
	uint64_t instructions;      /* executed by the process so far, where they are counted */
	struct fork_state forks[FORKS_KEPT];
	uint32_t n_forks;
	uint64_t waits_ns; /* since when another fork waits for room there; 0: none does */
};

/* A plain call, all in one word: operation, stack and size alone make its kind. Never 0. */
static inline uint64_t call_key(uint32_t stack, uint8_t op, uint32_t size)
{
	_Static_assert(MST_MAX_STACKS <= 1u << 26 && MST_OP_FREE <= 1u << 5, "a call has 26 + 5 + 32 bits");
	return (uint64_t)stack << 37 | (uint64_t)op << 32 | size;
}

/* Where the kind of such a call is remembered. */
static inline struct kind_entry *kind_entry(const struct tracee *t, uint64_t call, uint32_t old)
{
	return &t->kinds[((call ^ (uint64_t)old << 32) * 0x9e3779b97f4a7c15u) >> (64 - KIND_CACHE_BITS)];
}

/* Tells the writer who makes the next calls, and when. */
void tracee_set_time(struct tracee *tracee, const struct consumer *consumer, uint64_t stamp,
		     const struct clock *clock);

/*
 * Takes events as long as they are as usual, none stamped after `limit`, and `most` at most. Returns how many there
 * were; *err is 0, or what the last of them met, which is taken all the same.
 */
int64_t tracee_run(struct tracee *tracee, struct consumer *consumer, const struct clock *clock,
		   uint64_t limit, int64_t most, int *err);

/*
 * Before a fork: whether there is room for its state, or for want of it the children have had time enough to show up. At the
 * fork: the present state is what its child begins with. Behind it: there is no child.
 */
bool tracee_can_fork(struct tracee *tracee, const struct clock *clock);
void tracee_keep_fork(struct tracee *tracee, uint32_t number);
void tracee_forget_fork(struct tracee *tracee, uint32_t number);

/*
 * Before events are taken: meets new threads, and looks how far all of them are. Afterwards: tells them how far
 * msrec is, and frees the rings of those that are gone.
 */
int tracee_look_at_rings(struct tracee *tracee);
void tracee_settle_rings(struct tracee *tracee);

/*
 * The thread whose slot it is, in that writer's trace: that of the thread's first slot, which lies before its others
 * and so was looked at. 0 or a negative enum mst_error.
 */
int tracee_find_thread(struct tracee *tracee, struct mst_writer *writer, uint32_t slot, uint32_t *thread);

/* A mark about a mapping. */
void tracee_note_mapping(struct tracee *tracee, const struct consumer_event *e);

#endif
