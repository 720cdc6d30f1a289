/* SPDX-License-Identifier: MIT */
/* The stamps of a chunk: from which record on the calls have a stamp's time. */
#ifndef ANALYZE_STAMPS_H
#define ANALYZE_STAMPS_H

#include "mstrace.h"

/* The record at which the calls begin whose time is that of stamp `i`: a pair belongs to its first record's time. */
static inline uint32_t stamp_first_record(const struct mst_chunk *chunk, uint32_t i)
{
	const uint32_t record = chunk->stamps[i].record;
	if (record == 0)
		return 0;
	const unsigned role = chunk->tokens[chunk->records[record - 1]].role;
	return record + (role == MST_OUT || role == MST_KEEP);
}

#endif
