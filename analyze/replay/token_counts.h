/* SPDX-License-Identifier: MIT */
/* How often each token occurs among records. */
#ifndef ANALYZE_TOKEN_COUNTS_H
#define ANALYZE_TOKEN_COUNTS_H

#include <stdint.h>

#include "mstrace.h"

enum { TOKEN_COUNTS_ROW = 8 }; /* records of a round: the loop itself costs more than a count */

/* Adds the records [from, to) of a decoded chunk to `counts`, by token. */
static inline void token_counts_add(const struct mst_chunk *chunk, uint32_t from, uint32_t to,
				    uint32_t *counts)
{
	const uint16_t *const records = chunk->records;
	uint32_t i = from;
	for (; to - i >= TOKEN_COUNTS_ROW; i += TOKEN_COUNTS_ROW) {
		for (uint32_t k = 0; k < TOKEN_COUNTS_ROW; k++)
			counts[records[i + k]]++;
	}
	for (; i < to; i++)
		counts[records[i]]++;
}

#endif
