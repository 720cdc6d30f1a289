/* SPDX-License-Identifier: MIT */
/* A picture's address space as a fixed number of rows, from low addresses to high ones: what is never resident has none. */
#ifndef ANALYZE_PICTURE_ROWS_H
#define ANALYZE_PICTURE_ROWS_H

#include "picture.h"

enum { PICTURE_ROWS = 240, PICTURE_GROUP_BYTES = PICTURE_GROUP * 4096 };

/* Groups of pages that are ever resident, in ascending order. Zero-initialise; the caller frees `items`. */
struct picture_groups {
	uint64_t *items; /* [n] */
	size_t n;
};

/* What lies in a row of a column: bytes. Without room, the row has no group. */
struct picture_row {
	uint64_t room, resident, live, holes, empty;
};

/* False: no memory. */
bool picture_groups_collect(const struct picture *picture, struct picture_groups *groups);

/* The row of the group of that rank. */
static inline unsigned picture_row_of(const struct picture_groups *groups, size_t rank)
{
	return (unsigned)(rank * PICTURE_ROWS / groups->n);
}

void picture_rows_mix(const struct picture *picture, const struct picture_column *column,
		      const struct picture_groups *groups, struct picture_row rows[PICTURE_ROWS]);

#endif
