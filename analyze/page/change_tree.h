/* SPDX-License-Identifier: MIT */
/*
 * The calls of a diff's rows as one tree, from main inwards. A row lies where the new recording has its stack; one that
 * is gone, where the old had it, and there a function whose name differs in parameters or module alone counts as the
 * new one.
 */
#ifndef ANALYZE_PAGE_CHANGE_TREE_H
#define ANALYZE_PAGE_CHANGE_TREE_H

#include "diff.h"

struct change_node {
	uint32_t parent; /* MST_NONE: none; lower than the node */
	uint32_t label;  /* MST_NONE: it stands for other children; the number of labels: there is no stack */
	uint32_t others; /* rows that such a node stands for */
};

/* Zero-initialise. */
struct change_tree {
	struct change_node *items;
	uint32_t n;
	uint32_t *of_rows; /* by row of the diff: its node */
	uint32_t n_all;    /* nodes that there are */
};

/* The nodes that leave the least of all figures and changes to others, at most `most`. False: no memory. */
bool change_tree_make(struct change_tree *tree, const struct diff *diff, const struct match_labels *labels,
		      uint32_t most);
void change_tree_finish(struct change_tree *tree);

#endif
