/* SPDX-License-Identifier: MIT */
/*
 * An observer that follows each block from its allocation to its free: how long blocks live, by stack; which threads
 * allocate and which free; what reallocs copy. It reads each record, and needs its identity.
 *
 * A lifetime is counted in calls (allocations of any thread between the block's and its free, neither of them counted),
 * in bytes (what these and the block's own allocated) and in time. A realloc ends one block and begins another; that
 * ends no lifetime early: the lifetime is that of the last block of such a chain, and the realloc's stack has it.
 *
 * A block is temporary if it was freed after at most `allowed` further allocations of the thread that allocated it, by
 * any thread, and not by a realloc.
 *
 * Of a sampled trace the figures are those of the recorded blocks. In a filtered one lifetimes count the calls of
 * left_out.h, too.
 */
#ifndef ANALYZE_LIVES_H
#define ANALYZE_LIVES_H

#include "histogram.h"
#include "observer.h"

struct lives;

/* NULL: no memory. */
struct lives *lives_create(uint64_t allowed);
void lives_destroy(struct lives *lives); /* NULL is allowed */

struct observer *lives_observer(struct lives *lives);

/* Before the replay: histograms of lifetimes will be asked for. */
void lives_want_histograms(struct lives *lives);

/* Before the replay: lives_by_width() will be asked for. */
void lives_want_widths(struct lives *lives);

/* Before the replay: calls at this time, in ns, or after it don't count. */
void lives_end_before(struct lives *lives, uint64_t time_ns);

/*
 * After the replay: which block is freed isn't recorded. Then only calls, bytes, frees and heaptrack's count are known,
 * all else is 0 or as if nothing had been freed.
 */
bool lives_lack_identity(const struct lives *lives);

/* From a block's allocation to its free: what was allocated meanwhile, and time. */
struct lifetimes {
	struct histogram calls, bytes, time_ns;
};

/* What became of the blocks that one stack allocated. */
struct life {
	uint64_t blocks; /* allocated, also by reallocs */
	uint64_t freed;  /* blocks whose lifetime has ended by a free */
	uint64_t temporary;
	uint64_t
		temporary_by_heaptrack; /* frees of a block like the last allocation of all threads: stack and size */
	uint64_t most_calls;            /* the longest lifetime in calls */
	uint64_t instant;               /* freed within the clock's step in which they were allocated */
	struct lifetimes lifetimes; /* in lives_pages(); it and `instant` with lives_want_histograms() */

	/* Reallocs that this stack made of blocks of any stack. */
	uint64_t resized, moved;       /* all, and those that returned another address */
	uint64_t copied;               /* bytes that the latter had to copy */
	uint64_t chain;                /* the longest chain of reallocs that ends here */
	uint64_t chain_from, chain_to; /* its first and last size in bytes */

	/* Blocks live at the end. */
	uint64_t live;
	uint64_t oldest_ns, youngest_ns; /* times of their allocations; with live > 0 */
};

/* After the replay: the life of a stack's blocks. NULL: it allocated none. */
const struct life *lives_of(const struct lives *lives, uint32_t stack);

/* The pages of the lives' histograms. With lives_want_histograms(). */
const struct histogram_pages *lives_pages(const struct lives *lives);

struct lives_thread {
	uint64_t calls, bytes;   /* allocated */
	uint64_t frees, foreign; /* blocks that it freed; of these, those of other threads */
	uint64_t live_bytes,
		live_blocks; /* of blocks that it allocated: now, so after the replay at the end */
	uint64_t most_bytes; /* the largest live_bytes */
	uint64_t all_calls;  /* with those whose blocks a filter left out: only lifetimes count these */
	uint64_t began_ns;   /* its first record, if it has `begun` */
	uint64_t ended_ns;   /* UINT64_MAX: not known, or it lived to the end; after the replay */
	bool begun;
};

/* By the trace's threads; *n of them. */
const struct lives_thread *lives_threads(const struct lives *lives, uint32_t *n);

/* Blocks that one thread allocated and another, or the same, freed. */
struct lives_pair {
	uint32_t allocated_by, freed_by;
	uint64_t blocks, bytes;
};

/* In the order in which they came up; *n of them. */
const struct lives_pair *lives_pairs(const struct lives *lives, size_t *n);

/* All freed blocks by the widths in bits of size and lifetime in calls: blocks[size][calls]; 0 has no bits. With lives_want_widths(). */
enum { LIVES_WIDTHS = 65 };
const uint64_t (*lives_by_width(const struct lives *lives))[LIVES_WIDTHS];

uint64_t lives_temporary(const struct lives *lives);

#endif
