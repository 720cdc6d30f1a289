/* SPDX-License-Identifier: MIT */
/*
 * When the threads of a trace end, if it doesn't say. A thread that goes on keeps its arena and its cache, so an end must
 * not come too early. But glibc allocates a vector for each thread that it makes (dtv), frees it with the thread's stack,
 * and uses both again for a later thread. So there are never more threads than vectors: where a new thread makes its first
 * call and there are, one that has made its last call has ended. Without the names of these calls no thread ends.
 */
#ifndef ANALYZE_THREAD_ENDS_H
#define ANALYZE_THREAD_ENDS_H

#include "call_sites.h"
#include "outline.h"

/* What the calls tell. */
struct thread_vectors {
	uint8_t *kinds; /* [n] 1: its blocks are vectors */
	uint32_t n;
	bool any;
};

/* False: no memory. Zero-initialised vectors may be finished. */
bool thread_vectors_find(struct thread_vectors *vectors, const struct mst_reader *reader,
			 struct call_sites *calls);
void thread_vectors_finish(struct thread_vectors *vectors);

/* Follows the calls. */
struct thread_ends {
	const struct thread_vectors *vectors;
	uint64_t live;    /* vectors */
	uint64_t running; /* threads that have made a call and have not ended, without the main one */
	uint8_t *begun;   /* [n] by thread */
	uint32_t *
		done; /* [n] threads that have made their last call, in this order; those before `first` have ended */
	uint32_t first, n_done, n;
	bool at_once; /* a thread ends with its last call */
};

/* False: no memory. */
bool thread_ends_init(struct thread_ends *ends, const struct thread_vectors *vectors, uint32_t n_threads);
void thread_ends_finish(struct thread_ends *ends);

/* A block of a kind came or went. */
void thread_ends_block(struct thread_ends *ends, uint32_t kind, bool comes);

/* A thread made its last call. */
void thread_ends_last(struct thread_ends *ends, uint32_t thread);

/* A thread that has ended, which isn't said again, whatever call comes next; MST_NONE: none. */
uint32_t thread_ends_now(struct thread_ends *ends);

/* Before a thread's call: a thread that has ended by then, which isn't said again; MST_NONE: none (any more). */
uint32_t thread_ends_before(struct thread_ends *ends, uint32_t thread);

#endif
