/* SPDX-License-Identifier: MIT */
/* Which kinds of calls belong together. */
#include "mstrace.h"

bool mst_kind_is_freed_by(const struct mst_kind *block, const struct mst_kind *call)
{
	const bool operator= block->op == MST_OP_NEW || block->op == MST_OP_NEW_ARRAY;

	if (block->op == MST_OP_UNKNOWN || mst_op_is_custom(block->op) || call->flags & MST_KIND_ANY_FREE ||
	    !mst_op_is_free(call->op) || call->op == MST_OP_FREELIKE)
		return true;
	if (call->size && call->size != block->size)
		return false;
	if (operator|| call->align_log2)
		return call->align_log2 == block->align_log2 &&
		       call->op == (block->op == MST_OP_NEW         ? MST_OP_DELETE
				    : block->op == MST_OP_NEW_ARRAY ? MST_OP_DELETE_ARRAY
								    : MST_OP_FREE);
	return call->op == MST_OP_FREE;
}
