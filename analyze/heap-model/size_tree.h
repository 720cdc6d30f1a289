/* SPDX-License-Identifier: MIT */
/*
 * A sequence of sized items, in which the next one that is large enough is found without looking
 * at each. Items are numbers the caller has for them, from 0. Each operation is O(log n), as
 * expected. Single-threaded.
 */
#ifndef ANALYZE_SIZE_TREE_H
#define ANALYZE_SIZE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_TREE_NONE UINT32_MAX

/* A node of a treap in the order of the sequence, with the largest size of its subtree. */
struct fit {
	uint64_t size;
	uint64_t max;
	uint32_t up, low, high; /* SIZE_TREE_NONE: none */
	uint32_t priority;      /* a parent's is not below its children's */
};

struct size_tree {
	struct fit *v; /* by item; unset for those that aren't in the sequence */
	uint32_t root;
};

void size_tree_begin(struct size_tree *fits);  /* the empty sequence */
void size_tree_finish(struct size_tree *fits); /* frees what it holds */

/* Room for items below n. Pages of items that never were in the sequence are not touched. False when
 * out of memory. */
bool size_tree_reserve(struct size_tree *fits, uint32_t n);

/* Puts an item before the item `at`, or into the empty sequence, where `at` is SIZE_TREE_NONE. */
void size_tree_insert(struct size_tree *fits, uint32_t item, uint64_t size, uint32_t at);

void size_tree_remove(struct size_tree *fits, uint32_t item);

/* The first item of at least `size` from `at` on, then from the beginning; SIZE_TREE_NONE if all are smaller. */
uint32_t size_tree_find(const struct size_tree *fits, uint32_t at, uint64_t size);

#endif
