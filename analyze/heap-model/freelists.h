/* SPDX-License-Identifier: MIT */
/*
 * The free blocks of Valgrind's allocator, in lists by size. A list is a circle with a head: a block is inserted before
 * the head; when a block is removed, the head moves to the block before it, or to one of that block's neighbours at a
 * lower address.
 *
 * Sizes and addresses are bytes. Each call takes constant time, those about the list of the largest blocks O(log n)
 * expected. Memory: 32 bytes a block of that list. Single-threaded.
 */
#ifndef ANALYZE_FREELISTS_H
#define ANALYZE_FREELISTS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "size_tree.h"

#define BLOCK_NONE UINT32_MAX

enum {
	BLOCK_GRAIN = 16,               /* of payloads, sizes and addresses */
	BLOCK_OVERHEAD = 32,            /* of a block, without its payload; also the size of the smallest */
	FREELISTS_SMALL = 64,           /* these hold one size each */
	FREELISTS = 112,                /* in all */
	FREELISTS_LAST = FREELISTS - 1, /* the list of the largest blocks, searched to its end */
	FREELISTS_BOUND = 9890,         /* units of BLOCK_GRAIN: payloads from here on are in the last list */
};

/* In the low bits of a block's size. */
enum {
	BLOCK_LIVE = 1,
	BLOCK_WHOLE = 2, /* its superblock is of no other use and goes with it */
	BLOCK_FLAGS = 15,
};

/*
 * Blocks of a superblock are chained in the order of addresses. The first record of that chain stays the first as long
 * as the superblock exists, and stands for it: when blocks are split or joined, the lower part keeps its record.
 */
struct block {
	uint64_t address;
	uint64_t size;        /* a multiple of BLOCK_GRAIN, and flags */
	uint32_t prev, next;  /* in the superblock; BLOCK_NONE: none */
	uint32_t left, right; /* in the circle of its list, if free */
};

struct freelist {
	uint32_t head; /* BLOCK_NONE: empty */
	uint32_t n;    /* blocks */
};

struct freelists {
	struct freelist lists[FREELISTS];
	uint64_t filled[2];    /* bit l % 64 of word l / 64: list l is not empty */
	bool is_indexed;       /* `last` has the blocks of the last list, in the order of the circle */
	struct size_tree last; /* room for `room` numbers if it is indexed */
	uint32_t room;
	uint8_t list_of[FREELISTS_BOUND]; /* by units of payload */
};

/* In all functions, `blocks` are the records by number. */

void freelists_begin(struct freelists *lists);  /* all empty */
void freelists_finish(struct freelists *lists); /* frees what it holds */

/* Makes room for blocks with numbers below n. False: no memory. */
bool freelists_reserve(struct freelists *lists, uint32_t n);

/* The block of at least `size` that Valgrind takes for it, BLOCK_NONE if there is none. The block stays in its list. */
uint32_t freelists_find(struct freelists *lists, const struct block *blocks, uint64_t size);

/* Verifies all invariants by assert(), in O(n). */
void freelists_check(const struct freelists *lists, const struct block *blocks);

/*
 * Private: the new head of a list of n > 0 blocks, where `head` was left of a block that is gone; and keeps the
 * index of the last list, where a block is put before `head`.
 */
uint32_t freelists_head(const struct block *blocks, uint32_t head, uint32_t n);
void freelists_add_last(struct freelists *lists, const struct block *blocks, uint32_t i, uint32_t head);
void freelists_drop_last(struct freelists *lists, uint32_t i);

static inline uint64_t block_size(const struct block *block)
{
	return block->size & ~(uint64_t)BLOCK_FLAGS;
}

/* The list that has blocks of the size. */
static inline unsigned freelists_number(const struct freelists *lists, uint64_t size)
{
	const uint64_t k = (size - BLOCK_OVERHEAD) / BLOCK_GRAIN;

	assert(size >= BLOCK_OVERHEAD);
	return k < FREELISTS_BOUND ? lists->list_of[k] : FREELISTS_LAST;
}

static inline void freelists_insert(struct freelists *lists, struct block *blocks, uint32_t i)
{
	struct block *block = &blocks[i];
	const unsigned l = freelists_number(lists, block_size(block));
	struct freelist *list = &lists->lists[l];
	uint32_t head = BLOCK_NONE;

	assert(!(block->size & BLOCK_LIVE));
	if (list->n++ == 0) {
		block->left = block->right = list->head = i;
		lists->filled[l / 64] |= UINT64_C(1) << l % 64;
	} else {
		head = list->head;
		block->left = blocks[head].left;
		block->right = head;
		blocks[block->left].right = i;
		blocks[head].left = i;
	}
	if (l == FREELISTS_LAST)
		freelists_add_last(lists, blocks, i, head);
}

static inline void freelists_remove(struct freelists *lists, struct block *blocks, uint32_t i)
{
	const struct block *block = &blocks[i];
	const unsigned l = freelists_number(lists, block_size(block));
	struct freelist *list = &lists->lists[l];

	assert(list->n > 0 && blocks[block->left].right == i && blocks[block->right].left == i);
	if (--list->n == 0) {
		list->head = BLOCK_NONE;
		lists->filled[l / 64] &= ~(UINT64_C(1) << l % 64);
	} else {
		blocks[block->left].right = block->right;
		blocks[block->right].left = block->left;
		list->head = freelists_head(blocks, block->left, list->n);
	}
	if (l == FREELISTS_LAST)
		freelists_drop_last(lists, i);
}

/* The effect of inserting a block of `size` and removing it at once: another head. */
static inline void freelists_touch(struct freelists *lists, const struct block *blocks, uint64_t size)
{
	struct freelist *list = &lists->lists[freelists_number(lists, size)];

	if (list->n > 0)
		list->head = freelists_head(blocks, blocks[list->head].left, list->n);
}

#endif
