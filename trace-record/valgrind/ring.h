/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The producer's side of the memory shared with msrec (shm.h), for a program that Valgrind runs: one ring a
 * process, because Valgrind runs one thread at a time. Nothing is dropped while msrec lives: the program
 * waits for room. When msrec is gone recording ends, and the program runs on.
 */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "shm.h"

struct ring {
	struct shm_family *family;
	struct shm_segment *segment;
	uint32_t segment_number;
	bool on; /* somebody reads */
	uint8_t *data;
	uint64_t size, head, tail;
	uint64_t told;      /* instructions that the reader knows of */
	uint32_t tid;       /* of the thread that the reader takes for the present one */
	uint32_t unstamped; /* records that may follow without a stamp */
	uint32_t epoch;     /* the family's at the last one */
};

extern struct ring ring;

/* Maps what the path leads to, and takes a segment. False: there is no msrec of our kind. */
bool ring_open(const char *path);

/* In a forked child: a segment of its own. `fork` is the number that the parent gave the fork. */
void ring_follow_fork(uint32_t fork);

/* The process is about to be another program, or has failed to. */
void ring_tell_exec(bool now);

/* Numbers a fork that is about to be made. */
uint32_t ring_count_fork(void);

/* What is told of a call or a mark. */
struct told {
	uint8_t op, flags; /* enum mst_op or shm_op; SHM_FAILED, SHM_OVERFLOW */
	uint8_t align_log2;
	bool has_usable;
	uint16_t node; /* of the stack; 0: the op has none */
	uint64_t size; /* or the value of a mark */
	uint64_t operands[2];
	uint64_t usable;
	uint64_t instructions; /* executed so far */
};

/* Tells msrec, at once or after waiting for room; nothing when nobody reads. */
void ring_tell(const struct told *told);

/* A frame below another one, or the outermost (parent 0), is `node` from here on. */
void ring_tell_node(uint16_t node, uint16_t parent, uint64_t pc);

/* Changes of the stack pointer: SHM_SP_CHANGE_BYTES bytes of FORMAT.md's column of steps, filled up with zeros. */
void ring_tell_steps(const uint8_t *bytes);

/* The present thread is the one of that number. */
void ring_tell_thread(uint32_t tid);

/* A moment that orders what was told before and after it; and the next record gets one. */
uint64_t ring_stamp(void);
void ring_stamp_next(void);

#endif
