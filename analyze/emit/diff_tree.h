/* SPDX-License-Identifier: MIT */
/*
 * Two profiles as one tree of functions, for formats that show differences. Functions are the same by their names
 * alone: in which file or line, and in which object, may differ between two builds.
 */
#ifndef ANALYZE_DIFF_TREE_H
#define ANALYZE_DIFF_TREE_H

#include "emit.h"

/* Which amount of a row counts. */
struct diff_amount {
	enum profile_value value;
	bool at_end; /* of PROFILE_INUSE_BYTES: at the end, not at the point in time */
};

static inline uint64_t diff_amount_of(const struct stack_row *row, const struct diff_amount *amount)
{
	return amount->at_end ? row->bytes_at_end : row->values[amount->value];
}

enum diff_side { DIFF_OLD, DIFF_NEW, DIFF_SIDES };
enum { DIFF_AMOUNTS = 3 };

struct diff_values {
	uint64_t of[DIFF_SIDES][DIFF_AMOUNTS];
};

struct diff_tree {
	struct call_sites *calls; /* names alone */
	struct calltree tree;
	struct diff_values *values; /* by node: what was allocated there itself */
	uint32_t room;              /* private */
};

/*
 * `marked`: estimates of either profile are below a call that says so. False: no memory; diff_tree_finish() must still
 * be called.
 */
bool diff_tree_make(struct diff_tree *diff, const struct emit_view *view, const struct emit_view *base,
		    const struct diff_amount *amounts, unsigned n_amounts, bool marked);
void diff_tree_finish(struct diff_tree *diff);

#endif
