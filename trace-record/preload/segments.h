/* SPDX-License-Identifier: MIT */
/*
 * Maps the memory that is shared with msrec: all segments, so that any forked child finds its own there. Where the address
 * space is limited, a part of the segments is mapped; others one by one, while the file can be opened.
 */
#ifndef PRELOAD_SEGMENTS_H
#define PRELOAD_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"

/* Maps the family, unless it is mapped. */
bool segments_map(struct process *p);

/* Claims a segment. The one that the process has is its parent's. */
bool segments_claim(struct process *p);

/* The process may have so many bytes of address space from now on: unmaps segments beyond the recorder's part of it. */
void segments_leave_room(struct process *p, uint64_t address_space);

#endif
