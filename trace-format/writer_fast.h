/* SPDX-License-Identifier: MIT */
/*
 * The writer's commonest calls in line, for a recorder that makes them millions of times a second:
 * mst_writer_alloc() and mst_writer_free() as long as nothing else is due. Private to the recorder, which is
 * built with the library.
 */
#ifndef MSTRACE_WRITER_FAST_H
#define MSTRACE_WRITER_FAST_H

#include "writer.h"

/* The number of a token, ALLOC or FREE, of which a record can be added as it is; else NULL. */
static inline struct chunk_number *writer_quick_number(struct mst_writer *w, uint32_t kind,
						       enum mst_role role)
{
	const struct chunk *const chunk = &w->chunk;
	const struct chunk_numbers *const numbers = &chunk->numbers[0];
	const uint32_t place = chunk_place(kind, role);

	return __builtin_expect(chunk->n_records < w->due && place < numbers->n &&
					numbers->items[place].local >> 16 == chunk->epoch,
				1)
		       ? &numbers->items[place]
		       : NULL;
}

/* Adds a record of ALLOC. The block's ordinal is number->last, as it was before. */
static inline void writer_quick_alloc(struct mst_writer *w, struct chunk_number *number)
{
	w->chunk.records[w->chunk.n_records++] = (uint16_t)number->local;
	number->last++;
}

/* The same of FREE. The block's ordinal is one that the writer gave. */
static inline void writer_quick_free(struct mst_writer *w, struct chunk_number *number, uint64_t ordinal)
{
	w->chunk.records[w->chunk.n_records++] = (uint16_t)number->local;
	if (w->identity)
		chunk_put_age(&w->chunk, number, chunk_allocs_of(number)->last - ordinal);
}

#endif
