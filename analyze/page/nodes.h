/* SPDX-License-Identifier: MIT */
/*
 * The calling-context tree that the page shows: of all calls that lead to allocations, the nodes that leave the least
 * of all measures to others, and with each of them whose children are not all there a node for the others. So sums
 * over the tree are exact.
 */
#ifndef ANALYZE_PAGE_NODES_H
#define ANALYZE_PAGE_NODES_H

#include "flows.h"
#include "report.h"

/* A call in a module; what a node is besides its parent. */
struct page_frame {
	uint32_t call;   /* of call_sites.h */
	uint32_t module; /* MST_NONE: none */
	bool hidden;     /* sites_hide(), or sites_hide_frame() of all nodes with it */
};

struct page_node {
	uint32_t parent; /* MST_NONE: none; lower than the node */
	uint32_t frame;  /* MST_NONE: the node stands for other children of its parent */
	uint32_t stack;  /* one of the trace's that ends here; MST_NONE: none does */
	uint32_t others; /* stacks that such a node stands for */
};

struct page_tree;

/* Zero-initialise. */
struct page_nodes {
	struct page_node *items;
	uint32_t n;
	struct page_frame *frames; /* those of the nodes */
	uint32_t n_frames;
	uint32_t *of_stacks; /* by stack of the trace: its node; MST_NONE: it never allocated */
	uint32_t n_stacks;
	uint32_t n_all; /* nodes that there are */
};

/* After the replay: the whole tree. NULL: no memory. */
struct page_tree *page_tree_create(struct report *report, const struct flows *flows);
void page_tree_destroy(struct page_tree *tree); /* NULL is allowed */

/* At most `most` nodes of the tree. False: no memory; page_nodes_finish() must still be called. */
bool page_nodes_choose(struct page_nodes *nodes, const struct page_tree *tree, uint32_t most);
void page_nodes_finish(struct page_nodes *nodes);

#endif
