/* SPDX-License-Identifier: MIT */
/*
 * Maps the memory that is shared with msrec: all segments, so that any forked child finds its own there. Where the address
 * space is limited, a part of the segments is mapped; others one by one, while the file can be opened. Only what the
 * process uses of its own segment is accessible: a reader of all memory would fill the rest.
 */
#ifndef PRELOAD_SEGMENTS_H
#define PRELOAD_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"

/* Maps the family, unless it is mapped; under Valgrind without segments. */
bool segments_map(struct process *p);

/* Unmaps the family, of which the process has claimed nothing. */
void segments_unmap(struct process *p);

/*
 * Unmaps all but the heads of the process's rings: the mutexes there are in lists of its threads, which libc and the kernel
 * follow as long as these threads live.
 */
void segments_leave(struct process *p);

/* In a forked child that has claimed no segment: its parent's; NULL: that cannot be read. */
struct shm_segment *segments_parents(const struct process *p);

/* Claims a segment. The one that the process has is its parent's, and is given up; it can be read until segments_close(). */
bool segments_claim(struct process *p);

/* In a forked child that has claimed a segment: ends its access to its parent's, segment `number`. */
void segments_close(struct process *p, struct shm_segment *parents, uint32_t number);

/* Makes the ring's data accessible. */
bool segments_open_ring(struct process *p, uint32_t ring_id);

/* Puts private memory, which is never freed, in the place of the process's segment. */
void segments_abandon(struct process *p);

/* The process may have so many bytes of address space from now on: unmaps segments beyond the recorder's part of it. */
void segments_leave_room(struct process *p, uint64_t address_space);

#endif
