/* SPDX-License-Identifier: MIT */
/*
 * Chunks that wait to be decoded, in the order of the file, and threads that decode them ahead of delivery.
 * Only the reader's thread calls these functions; it decodes a chunk itself rather than wait, and all chunks
 * without other threads. Private.
 */
#ifndef MSTRACE_READ_AHEAD_H
#define MSTRACE_READ_AHEAD_H

#include "decode.h"

struct ahead;

/* Numbers of definitions. */
struct known {
	uint32_t kinds, stacks, frames, modules, threads;
};

/* A chunk that waits. */
struct ahead_chunk {
	struct decode decode;
	struct known known;                                   /* before the chunk */
	bool whole;                                           /* decode the records, too */
	enum { CHUNK_WAITING, CHUNK_BUSY, CHUNK_DONE } state; /* read_ahead.c's, under its lock */
};

/* `threads` beside the caller's start when there is work for them. NULL: no memory. */
struct ahead *ahead_create(unsigned threads);
void ahead_destroy(struct ahead *ahead); /* NULL is allowed */

/* Room for the next chunk, reset; NULL: all is in use. */
struct ahead_chunk *ahead_free(struct ahead *ahead);
/* Hands over the chunk that ahead_free() gave, filled. */
void ahead_submit(struct ahead *ahead);

/* The first chunk, decoded or not; NULL: there is none. */
struct ahead_chunk *ahead_first(struct ahead *ahead);
/* Waits until the first chunk is decoded. */
void ahead_wait(struct ahead *ahead);
/* Drops the first chunk, which is decoded. */
void ahead_release(struct ahead *ahead);

/* Stored bytes of all chunks here. */
size_t ahead_bytes(const struct ahead *ahead);

/*
 * Whether enough chunks wait to read the next ones later, several at a time: a thread that is woken for each
 * chunk spends more time on waking than on the chunk.
 */
bool ahead_is_busy(const struct ahead *ahead);

/* Whether there are, or will be, threads beside the caller's. */
bool ahead_is_parallel(const struct ahead *ahead);

/* For decoding in the caller's thread. */
struct decode_scratch *ahead_scratch(struct ahead *ahead);

#endif
