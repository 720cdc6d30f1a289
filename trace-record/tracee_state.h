/* SPDX-License-Identifier: MIT */
/* What is known of a recorded process, for the files that tracee.h consists of. Private. */
#ifndef TRACE_RECORD_TRACEE_STATE_H
#define TRACE_RECORD_TRACEE_STATE_H

#include "blocks.h"
#include "customs.h"
#include "frames.h"
#include "lane.h"
#include "tracee.h"

#define KIND_CACHE_BITS 13
#define FORKS_KEPT 64u /* states kept for children that have not shown up yet */

/* The kind of a plain call, remembered. */
struct kind_entry {
	uint64_t call; /* see call_key(); 0: none */
	uint32_t kind;
};

/* The state of the process at a fork, for the child. */
struct fork_state {
	uint32_t number;
	struct tracee *child;
};

struct tracee {
	struct shm_segment *segment;
	struct mst_writer *writer;
	bool has_file;
	uint32_t depth;
	int64_t step;         /* events that tracee_drain() takes at most */
	struct blocks blocks; /* the allocator's own */
	bool expecting;       /* the table is told of addresses ahead */
	struct customs customs;
	struct frames frames;
	struct kind_entry *kinds;
	uint64_t at_stamp; /* what the writer was told last of time and thread */
	uint32_t at_thread;
	struct lane *lanes;
	uint32_t n_lanes;
	uint64_t held_ns,
		held_address; /* since when the allocation of an address has been waiting; 0 = none is */
	uint64_t mapped;      /* bytes, by the program's own mmap */
	uint64_t unknown_frees, implied_frees, lost;
	uint64_t instructions; /* executed by the process so far, where they are counted */
	struct fork_state forks[FORKS_KEPT];
	uint32_t n_forks;
};

/* A mark about a mapping. */
void tracee_note_mapping(struct tracee *tracee, const struct lane_event *e);

#endif
