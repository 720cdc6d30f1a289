/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The producer's side of the memory shared with msrec (shm.h), for a program that Valgrind runs: one ring a process, because
 * Valgrind runs one thread at a time. While msrec lives no event is dropped: the program waits for room. When msrec is
 * gone, recording ends and the program runs on.
 */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "shm.h"

/* size is a power of two; tail <= head <= tail + size. */
struct ring {
	struct shm_family *family;
	struct shm_segment *segment;
	uint32_t segment_number;
	bool on; /* msrec reads */
	uint8_t *data;
	uint64_t size, head, tail;
	uint64_t emitted;   /* instructions that were emitted */
	uint32_t tid;       /* of the thread that msrec takes for the current one */
	uint32_t unstamped; /* records that may follow without a stamp */
	uint32_t epoch;     /* the family's at the last stamp */
};

extern struct ring ring;

/*
 * Maps the family at `path`, and claims a segment. False: the file is not a family of this version, or is full, or `program`
 * is not to be recorded.
 */
bool ring_open(const char *path, const char *program);

/* In a forked child: claims a segment. `fork` is the number that the parent gave the fork. */
void ring_follow_fork(uint32_t fork);

/* The process is about to be another program, or has failed to. */
void ring_note_exec(bool now);

/* Numbers a fork that is about to be made. */
uint32_t ring_count_fork(void);

/* A call or a marker. */
struct event {
	uint8_t op, flags; /* enum mst_op or shm_op; SHM_FAILED, SHM_OVERFLOW */
	uint8_t align_log2;
	bool has_usable;
	uint16_t node; /* of the stack; 0: the op has none */
	uint64_t size; /* or the value of a marker, the address of a free */
	uint64_t operands[2];
	uint64_t usable;
	uint64_t instructions; /* executed so far */
};

/* Emits an event, maybe after waiting for room; does nothing when recording has ended. */
void ring_emit(const struct event *event);

/* From here on `node` is the frame at `pc` below the node `parent` (0: outermost). */
void ring_emit_node(uint16_t node, uint16_t parent, uint64_t pc);

/* SP changes: SHM_SP_CHANGE_BYTES bytes of the column that FORMAT.md describes, filled up with zeros. */
void ring_emit_sp_changes(const uint8_t *bytes);

/* From here on events are of the thread with that number. */
void ring_emit_thread(uint32_t tid);

/* A stamp: later than all events emitted before, earlier than all after. */
uint64_t ring_stamp(void);

/* The next record gets a stamp. */
void ring_stamp_next(void);

#endif
