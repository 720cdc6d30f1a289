/* SPDX-License-Identifier: MIT */
/*
 * Columns in other words, which take longer to find but less room: the bytes of records in planes, identity
 * token by token, the two halves of stamps apart, and 0 for what comes next. Private.
 */
#ifndef MSTRACE_RECODE_H
#define MSTRACE_RECODE_H

#include "mst_writer.h"

/* Whether records of this role name a block, so that identity has an entry for them. */
static inline bool recode_has_identity(uint32_t role)
{
	return role != MST_ALLOC && role != MST_CALL;
}

/*
 * What is stored token by token: where each of them begins, its records that have identity being counted. Returns how
 * many these are.
 */
uint32_t recode_places(const struct mst_token *tokens, uint32_t n_tokens, uint32_t *places);

/*
 * Stacks are defined from the outermost frame inwards, so each new one ends a run of which each is the parent of the
 * next: where the run ends in which `at` is; `at` itself if it is none of the n stacks.
 */
static inline uint32_t recode_end(const struct mst_stack *stacks, uint32_t n, uint32_t at)
{
	while (at + 1 < n && stacks[at + 1].parent == at)
		at++;
	return at;
}

/*
 * Of the chunk's columns in w->columns, puts those that get smaller when folded in place of the plain ones. The
 * chunk's tokens are counted. 0 or MST_ERR_NOMEM.
 */
int recode_columns(struct mst_writer *w);

/* The same of definitions, whose columns are those of the stacks, or kinds, from `first` on. */
void recode_stacks(struct mst_writer *w, uint32_t first);
void recode_kinds(struct mst_writer *w, uint32_t first);

#endif
