/* SPDX-License-Identifier: MIT */
/*
 * Chunks that wait to be decoded, in the order of the file, and threads that do so ahead of the reader. All functions
 * are for the reader's own thread, which decodes, too, instead of waiting; without other threads it does
 * all of it. Private.
 */
#ifndef MSTRACE_READ_AHEAD_H
#define MSTRACE_READ_AHEAD_H

#include "decode.h"

struct ahead;

/* How many definitions there are. */
struct known {
	uint32_t kinds, stacks, frames, modules, threads;
};

struct ahead_slot {
	struct decode decode;
	struct known known;                                /* before the chunk */
	bool whole;                                        /* both steps are wanted */
	enum { SLOT_WAITING, SLOT_BUSY, SLOT_DONE } state; /* ahead's own */
};

/* With `threads` beside the caller's, which start when there is something for them. NULL: no memory. */
struct ahead *ahead_create(unsigned threads);
void ahead_destroy(struct ahead *ahead); /* NULL is allowed */

/* The slot that the next chunk is to be put into, reset; NULL: all are in use. */
struct ahead_slot *ahead_free(struct ahead *ahead);
/* It has been filled. */
void ahead_submit(struct ahead *ahead);

/* The first of the chunks, whether it has been decoded or not; NULL: there is none. */
struct ahead_slot *ahead_first(struct ahead *ahead);
/* Makes sure that it has been. */
void ahead_wait(struct ahead *ahead);
/* The first chunk isn't needed any more. */
void ahead_release(struct ahead *ahead);

/* Stored bytes of all chunks here. */
size_t ahead_bytes(const struct ahead *ahead);

/*
 * Whether so many wait that the next ones can be read later, some at a time: a thread that is woken for each single
 * one spends more time on that than on the chunk.
 */
bool ahead_is_busy(const struct ahead *ahead);

/* Whether there are, or will be, threads beside the caller's. */
bool ahead_is_parallel(const struct ahead *ahead);

/* The caller's own. */
struct decode_scratch *ahead_scratch(struct ahead *ahead);

#endif
