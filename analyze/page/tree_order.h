/* SPDX-License-Identifier: MIT */
/*
 * The order in which the nodes of a tree are taken if only some can be: parents before children, and weight as early as
 * can be: no other such order has a lower sum of weight times place. A node's own weight is no measure: a light node
 * may lead to heavy ones, and a heavy leaf at the end of a long chain costs the chain. So what counts is weight by node
 * of the best tree that begins with it.
 */
#ifndef ANALYZE_PAGE_TREE_ORDER_H
#define ANALYZE_PAGE_TREE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Of nodes 0 to n - 1, node 0 is the root, all others have a parent with a lower number; weights are finite and not
 * negative. Writes each node's place in the order. O(n log n). False: no memory.
 */
bool tree_order(const uint32_t *parents, const double *weights, uint32_t n, uint32_t *places);

/* The same, of the first `first` places; the places of other nodes are theirs, or UINT32_MAX. */
bool tree_order_first(const uint32_t *parents, const double *weights, uint32_t n, uint32_t first,
		      uint32_t *places);

#endif
