/* SPDX-License-Identifier: MIT */
/*
 * An observer that finds out how the blocks of each place, a stack in one thread, come and go: one at a time, last in
 * first out, how many at most, growing in steps; and what was freed soon after the program's peak. It reads each record,
 * and needs its identity. Blocks that were live when the trace began are of no place.
 */
#ifndef ANALYZE_TURNOVER_H
#define ANALYZE_TURNOVER_H

#include "observer.h"

struct turnover;

/* NULL: no memory. */
struct turnover *turnover_create(void);
void turnover_destroy(struct turnover *turnover); /* NULL is allowed */

struct observer *turnover_observer(struct turnover *turnover);

/* After the replay; true: which block is freed isn't recorded, and there are no places. */
bool turnover_lacks_identity(const struct turnover *turnover);

/*
 * A ladder: a buffer that grows in TURNOVER_LADDER steps or more. A step is a realloc to a larger size; or a new block of
 * the same place, 1.5 to 2 times as large, after which the thread's next call of the allocator frees the old one, as
 * containers grow. The place of the last step has the ladder.
 */
enum { TURNOVER_LADDER = 3, TURNOVER_FREES = 4 };

/* Invariants: live <= most; least <= largest; foreign <= freed; freed + resized + live = blocks; n_frees <= TURNOVER_FREES. */
struct turnover_place {
	uint32_t stack, thread;
	uint64_t blocks;         /* allocated, also by reallocs */
	uint64_t freed;          /* of these, by a free of any thread */
	uint64_t foreign;        /* of these, by another thread */
	uint64_t resized;        /* of the blocks, by a realloc */
	uint64_t live, most;     /* live blocks: now, and the most */
	uint64_t records;        /* blocks that were larger than all before them */
	uint64_t least, largest; /* size in bytes */
	bool nested;             /* each was freed while it was the youngest live one */

	/* The stacks of the calls that freed its blocks, if all are known and they are no more than these. */
	uint32_t frees[TURNOVER_FREES];
	uint32_t n_frees;
	bool frees_unknown;

	uint64_t ladders, steps; /* ladders that ended, and their steps */
	uint64_t copied; /* bytes that the steps to another address had to copy: the old blocks' sizes */
	uint64_t longest, longest_from,
		longest_to; /* the most steps that led to a block; first and last size */
};

/* Whether stacks of frees are recorded. */
bool turnover_has_free_stacks(const struct turnover *turnover);

/* In the order in which they came up; *n of them. */
const struct turnover_place *turnover_places(const struct turnover *turnover, uint32_t *n);

/* Calls that gave a block, and their bytes. */
uint64_t turnover_calls(const struct turnover *turnover);
uint64_t turnover_bytes(const struct turnover *turnover);

/*
 * The first moment of the most live bytes: `index` is the block that came then. Frees are soon after it while no more than
 * TURNOVER_SOON allocations, or a twentieth of those until the peak if that is more, have come: up to the block `until`.
 */
enum { TURNOVER_SOON = 1000 };

struct turnover_peak {
	uint64_t bytes, index, until;
	uint64_t last; /* the trace's last block */
};
struct turnover_peak turnover_peak(const struct turnover *turnover);

/* Blocks of a stack that were live at the peak and freed, not resized, soon after it. */
struct turnover_early {
	uint64_t bytes, blocks;
	uint64_t last; /* index of the youngest of them */
};
struct turnover_early turnover_early(const struct turnover *turnover, uint32_t stack);

/* The records of the trace that freed such blocks, of all stacks, in order; *n of them. */
const uint64_t *turnover_early_frees(const struct turnover *turnover, uint32_t *n);

#endif
