/* SPDX-License-Identifier: MIT */
/*
 * Which nodes of a tree a page shows: those that leave the least weight to others, a parent before its children. What
 * isn't shown belongs to one more node, the others, of the innermost node above it that is.
 */
#ifndef ANALYZE_PAGE_TREE_CHOICE_H
#define ANALYZE_PAGE_TREE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODES_MOST = 20000, NODES_LEAST = 50 };

/* Zero-initialise. */
struct tree_choice {
	uint32_t *numbers; /* by node: its number; MST_NONE: it isn't shown, or is the root */
	uint32_t *
		others; /* by node: the number of its others; MST_NONE: all children are shown, or it isn't */
	uint32_t n_shown, n; /* others are numbered from n_shown to n - 1 */
};

/*
 * Of nodes as tree_order() takes them, the first of which is the root, at most `most` with their others. A node's weight
 * is what is its own share of all, and a small part of what it has with its descendants: shares[i] is the latter, in any
 * unit. False: no memory; tree_choice_finish() must still be called.
 */
bool tree_choose(struct tree_choice *choice, const uint32_t *parents, const double *shares, uint32_t n,
		 uint32_t most);
void tree_choice_finish(struct tree_choice *choice);

/* The number of the node to which a node's figures belong: its own, or that of others. No root. */
uint32_t tree_choice_of(const struct tree_choice *choice, const uint32_t *parents, uint32_t node);

/* How many nodes to try next, if the data of `n` are `size` bytes and there is room for fewer. */
uint32_t tree_choice_fewer(uint32_t n, size_t size, size_t room);

#endif
