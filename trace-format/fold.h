/* SPDX-License-Identifier: MIT */
/*
 * Columns of a chunk in other words, which take longer to find but less room: the bytes of records in planes, identity
 * symbol by symbol, and the two halves of stamps apart. Private.
 */
#ifndef MSTRACE_FOLD_H
#define MSTRACE_FOLD_H

#include "mstrace.h"

/* Whether records of this role name a block, so that identity has an entry for them. */
static inline bool fold_has_identity(uint32_t role)
{
	return role != MST_ALLOC && role != MST_CALL;
}

/*
 * What is stored symbol by symbol: where each of them begins, its records that have identity being counted. Returns how
 * many these are.
 */
uint32_t fold_places(const struct mst_symbol *symbols, uint32_t n_symbols, uint32_t *places);

/*
 * Of the chunk's columns in w->columns, puts those that get smaller when folded in place of the plain ones. The
 * chunk's symbols are counted. 0 or MST_ERR_NOMEM.
 */
int fold_columns(struct mst_writer *w);

#endif
