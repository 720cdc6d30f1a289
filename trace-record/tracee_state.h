/* SPDX-License-Identifier: MIT */
/* The state of a recorded process, for the files that implement tracee.h. Private. */
#ifndef TRACE_RECORD_TRACEE_STATE_H
#define TRACE_RECORD_TRACEE_STATE_H

#include "blocks.h"
#include "consumer.h"
#include "customs.h"
#include "fork_states.h"
#include "frames.h"
#include "generated.h"
#include "mst_limits.h"
#include "page_state.h"
#include "thread_names.h"
#include "tids.h"
#include "timed_marks.h"
#include "tracee.h"

/* Places of the cache of kinds, as a power of two: at first, at most, and in steps. */
#define KIND_CACHE_FIRST_BITS 9
#define KIND_CACHE_BITS 15
#define KIND_CACHE_STEP 3

#define FREED_BLOCKS 4096u

/* A block that was freed. */
struct freed_block {
	uint64_t address; /* 0: none */
	struct block block;
};

#define TIME_STAMPS 256u /* ticks or ns, a part of the trace's unit of time: stamps so near are one time */

/* The kind of a plain call, remembered. */
struct kind_entry {
	uint64_t call; /* see call_key(); 0: none */
	uint32_t kind;
	uint32_t old; /* kind of the block that a realloc takes; MST_NONE: no realloc */
};

struct kind_cache {
	struct kind_entry *entries;
	unsigned bits;    /* of their number */
	uint32_t entered; /* since there are so many; not counted any more when there are most */
};

/* What the END unit counts, of the present file. */
struct tracee_counts {
	uint64_t unknown_frees, implied_frees, lost;
	uint64_t null_frees;        /* calls of free(NULL) in all files; at least ... */
	uint64_t null_frees_before; /* ... those in former files */
	uint64_t ringless; /* events without a ring, of the segment when tracee_end() looked; at least ... */
	uint64_t ringless_before; /* ... those in former files */
};

/* What the looks at the rings found of threads. */
struct tracee_threads {
	uint64_t looked_ns; /* since time 0: up to then, threads that are found gone were there */
	bool any_alive;     /* at the last look */
};

/*
 * Invariants: a block is live in one place alone, in `blocks` (malloc's), in `customs` or in the `moving` of a consumer;
 * `null_frees_before` <= `null_frees`; n_consumers <= SHM_RINGS, and each of those consumers that has a ring has a thread of
 * the writer; `writer` has written at_stamp and at_thread last. A child of a fork has no file until its first event, or its end.
 */
struct tracee {
	struct shm_segment *segment;
	struct mst_writer *writer;
	bool has_file;

	/* What is wanted. */
	uint32_t depth;    /* frames of a stack */
	int64_t batch;     /* events that tracee_drain() takes at most */
	uint64_t start_ns; /* of the clock: the trace's time 0 */

	/* Where events come from. */
	struct consumer *consumers; /* by ring; at least one */
	uint32_t n_consumers, consumers_room;
	struct tids tids;             /* of a process with one ring for all threads */
	pid_t pid;                    /* the process's, for /proc; 0: not known */
	char program[SHM_NAME_BYTES]; /* the name of its first thread, as it begins */
	struct early_names early_names;
	struct tracee_threads threads;

	/* What they led to. */
	struct blocks blocks;
	struct customs customs;
	struct freed_block *freed; /* the last ones, FREED_BLOCKS places by address */
	struct page_state *pages;  /* NULL: pages are not recorded, or there will be no other file */
	uint64_t mapped;           /* bytes, by the program's own mmap */
	uint64_t stranded;         /* blocks without an address, from before a fork */
	uint64_t instructions;     /* executed by the process so far, where they are counted */
	bool off, was_off;         /* blocks that come are not recorded now; or were not at some time */
	bool switched_off;         /* the latter not only because recording began late */
	bool exited;               /* the exit handlers are done */
	struct timed_marks timed_marks;
	struct asked_marks asked;
	struct fork_states forks;
	struct tracee_counts counts;
	uint64_t contexts; /* that threads have defined */

	/* What the writer knows. */
	struct frames frames;
	struct generated generated;
	struct generated former; /* of the writer before the last rollover */
	struct kind_cache kinds;
	uint64_t at_stamp; /* of the last event whose time and thread were written */
	uint32_t at_thread;
};

/* A plain call in one word: operation, stack and size alone make its kind. Never 0. */
static inline uint64_t call_key(uint32_t stack, uint8_t op, uint32_t size)
{
	_Static_assert(MST_MAX_STACKS <= 1u << 26 && MST_OP_FREE <= 1u << 5, "a call has 26 + 5 + 32 bits");
	return (uint64_t)stack << 37 | (uint64_t)op << 32 | size;
}

/* Where the kind of such a call is remembered. */
static inline struct kind_entry *kind_entry(const struct tracee *t, uint64_t call, uint32_t old)
{
	const uint64_t mixed = (call ^ (uint64_t)old << 32) * 0x9e3779b97f4a7c15u;

	return &t->kinds.entries[mixed >> (64 - t->kinds.bits)];
}

/* Gives the writer the time and the thread of the next calls. */
void tracee_set_time(struct tracee *tracee, const struct consumer *consumer, uint64_t stamp,
		     const struct clock *clock);

/*
 * Takes plain records from the ring, none stamped after `limit`, and `most` at most. Returns how many there were; *err is 0,
 * or the error of the last of them, which is taken all the same.
 */
int64_t tracee_run(struct tracee *tracee, struct consumer *consumer, const struct clock *clock,
		   uint64_t limit, int64_t most, int *err);

/* Takes a record of SHM_OP_NODE, whose stamp is the consumer's: a node of a thread's stacks is defined anew. */
int tracee_define_node(struct tracee *tracee, struct consumer *consumer, uint64_t head, uint64_t pc);

/* As tracee_drain(), without the marks that msrec sets. */
int64_t tracee_take(struct tracee *tracee, const struct clock *clock, uint64_t until);

/* At a FORK event: the present state is what the child begins with. There is room for it. */
void tracee_keep_fork(struct tracee *tracee, uint32_t number);

/* The fork failed: there is no child. */
void tracee_forget_fork(struct tracee *tracee, uint32_t number);

/* Before a drain: opens consumers for new threads, and looks how far all producers are. */
int tracee_look_at_rings(struct tracee *tracee);

/* After a drain: lets the producers overwrite what was taken, and frees the rings of threads that are gone. */
void tracee_settle_rings(struct tracee *tracee);

/*
 * The thread of a ring, in that writer's trace. A thread's later rings have the thread of its first, which has a lower id and
 * so a consumer already. 0 or a negative enum mst_error.
 */
int tracee_find_thread(struct tracee *tracee, struct mst_writer *writer, uint32_t ring_id, uint32_t *thread);

/*
 * Behind an event of a consumer, or a look: the thread has ended if it is gone and all its events have been taken. 0 or a
 * negative enum mst_error.
 */
int tracee_end_thread(struct tracee *tracee, struct consumer *consumer);

/* The thread of a consumer is called so from now on. 0 or a negative enum mst_error. */
int tracee_name_thread(struct tracee *tracee, struct consumer *consumer, const char name[SHM_NAME_BYTES]);

/* The thread of a consumer has given a thread, by its pthread_t, another name. The same result. */
int tracee_rename(struct tracee *tracee, struct consumer *by, uint64_t pointer, uint64_t stamp,
		  const char name[SHM_NAME_BYTES]);

/* Whether the block is from before the recording. */
bool tracee_is_earlier(const struct tracee *tracee, struct block block);

/* Follows a marker MST_OP_OFF or MST_OP_ON of a size. */
void tracee_note_phase(struct tracee *tracee, uint8_t op, uint64_t size);

/* Follows a marker about a mapping. */
void tracee_note_mapping(struct tracee *tracee, const struct consumer_event *e);

#endif
