/* SPDX-License-Identifier: MIT */
#include "counts.h"

/* Whether the record is the second half of a call. */
static bool is_second(const struct mst_chunk *chunk, uint32_t record)
{
	const uint32_t before = record ? chunk->tokens[chunk->records[record - 1]].role : MST_ALLOC;

	return before == MST_OUT || before == MST_KEEP;
}

const char *counts_take(struct decode *d, struct cursor column)
{
	uint64_t count = d->chunk.first_count, delta, *instructions = d->arrays.instructions.items;

	for (uint32_t i = 0; i < d->chunk.n_records; i++) {
		if (!is_second(&d->chunk, i)) {
			if (!take_varint(&column, &delta) || delta > d->chunk.last_count - count)
				return "the instruction column is malformed";
			count += delta;
		}
		instructions[i] = count;
	}
	return count == d->chunk.last_count ? NULL : "the instruction column is malformed";
}
