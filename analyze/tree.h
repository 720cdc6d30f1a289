/* SPDX-License-Identifier: MIT */
/*
 * From live bytes by stack to the tree that Massif prints: equal stacks summed up, what is below
 * the threshold dropped, the rest sorted. Nothing is kept between two trees.
 */
#ifndef ANALYZE_TREE_H
#define ANALYZE_TREE_H

#include "massif.h"
#include "naming.h"

/* The live bytes of `n` frames of a stack of the trace, from `stack` outwards. */
struct tree_leaf {
	uint64_t bytes;
	uint32_t stack;
	uint32_t n;
	uint32_t next; /* scratch */
};

struct tree_input {
	struct tree_leaf *leaves; /* every stack allocated from so far; used up */
	uint32_t n_leaves;
	const struct mst_stack *stacks; /* the trace's tables */
	uint32_t n_frames;
	const uint32_t *same;  /* by frame: that which stands for it; NULL: each for itself */
	uint64_t more;         /* bytes beside those of the leaves, for the threshold */
	double threshold;      /* percent of all bytes */
	struct naming *naming; /* naming_compare() orders equal entries */
};

/* NULL: no memory. */
struct tree *tree_build(const struct tree_input *input);

#endif
