/* SPDX-License-Identifier: MIT */
/*
 * The size tree: a sequence of sized items, in which the next item that is large enough is found without a look at
 * each. A treap in the order of the sequence; each node knows the largest size of its subtree. The caller numbers the
 * items from 0, and may search the tree by a key of its own that ascends along the sequence (free_ranges.c does).
 *
 * Each operation takes O(log n) expected time. Memory: 32 bytes an item. Single-threaded.
 */
#ifndef ANALYZE_SIZE_TREE_H
#define ANALYZE_SIZE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_TREE_NONE UINT32_MAX

struct size_node {
	uint64_t size;
	uint64_t max;           /* the largest size of the subtree */
	uint32_t up, low, high; /* SIZE_TREE_NONE: none; `low` comes before the node, `high` after it */
	uint32_t priority;      /* at least that of the children */
};

struct size_tree {
	struct size_node *v; /* [capacity] by item; set for items in the sequence only */
	uint32_t capacity;
	uint32_t root;
};

void size_tree_begin(struct size_tree *tree);  /* an empty sequence */
void size_tree_finish(struct size_tree *tree); /* frees the nodes; the sequence is empty */

/*
 * Makes room for items below n > 0; memory of items that never were in the sequence is not touched. False: no memory.
 */
bool size_tree_reserve(struct size_tree *tree, uint32_t n);

/* Puts an item before the item `at`; SIZE_TREE_NONE: after all others. */
void size_tree_insert(struct size_tree *tree, uint32_t item, uint64_t size, uint32_t at);

void size_tree_remove(struct size_tree *tree, uint32_t item);

/* Gives an item of the sequence another size. */
void size_tree_resize(struct size_tree *tree, uint32_t item, uint64_t size);

/* The first item of the sequence of at least `size`; SIZE_TREE_NONE: all are smaller. */
uint32_t size_tree_first(const struct size_tree *tree, uint64_t size);

/* The first item of at least `size` from item `at` on, then from the beginning; SIZE_TREE_NONE: all are smaller. */
uint32_t size_tree_find(const struct size_tree *tree, uint32_t at, uint64_t size);

/* Verifies all invariants by assert(), in O(n). */
void size_tree_check(const struct size_tree *tree);

#endif
