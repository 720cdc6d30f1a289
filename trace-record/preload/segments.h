/* SPDX-License-Identifier: MIT */
/*
 * Which part of the memory that is shared with msrec this process has mapped: all of it, so that any forked child
 * finds its segment there. Where the address space is limited, it is a part, and more is mapped one by one, if it
 * can be reached.
 */
#ifndef PRELOAD_SEGMENTS_H
#define PRELOAD_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "process_state.h"

/* Maps the family, if it isn't. */
bool segments_map(struct process *p);

/* Gives the process a segment; the one that it has is its parent's, and is left. */
bool segments_claim(struct process *p);

/* The calling process may have so much address space from now on: gives back what is too much of that. */
void segments_leave_room(struct process *p, uint64_t address_space);

#endif
