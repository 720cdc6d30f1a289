/* SPDX-License-Identifier: MIT */
/* The address space of mswhatif's player over time. */
#include "parts.h"

#include <stdlib.h>

#include "picture_rows.h"

typedef struct picture_row column_rows[PICTURE_ROWS];

static void write_moments(struct columns *c, const struct picture *picture)
{
	uint64_t ns = 0;
	columns_number(c, picture->n_columns);
	for (uint32_t i = 0; i < picture->n_columns; i++) {
		columns_signed(c, picture->columns[i].moment.ns - ns);
		ns = picture->columns[i].moment.ns;
	}
	for (uint32_t i = 0; i < picture->n_columns; i++)
		columns_number(c, picture->columns[i].moment.bytes);
}

/* Of each row that has groups: the address of its first byte, as the difference to the one before, and its size. */
static void write_rows(struct columns *c, const struct picture_groups *groups)
{
	uint64_t before = 0;
	for (size_t rank = 0; rank < groups->n;) {
		const size_t first = rank;
		while (rank < groups->n && picture_row_of(groups, rank) == picture_row_of(groups, first))
			rank++;
		columns_number(c, (groups->items[first] - before) * PICTURE_GROUP_BYTES);
		columns_number(c, (rank - first) * PICTURE_GROUP_BYTES);
		before = groups->items[first];
	}
}

/* Of a row, one of the four numbers at each moment, as differences. */
static void write_series(struct columns *c, const column_rows *columns, uint32_t n, unsigned row,
			 unsigned what)
{
	uint64_t before = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct picture_row *r = &columns[i][row];
		const uint64_t values[] = { r->resident, r->live, r->holes, r->empty };
		columns_signed(c, values[what] - before);
		before = values[what];
	}
}

bool part_space(struct parts *parts, const struct picture *picture)
{
	struct columns *c = &parts->columns;
	struct picture_groups groups = { 0 };
	column_rows *columns = malloc((picture->n_columns + 1) * sizeof(*columns));
	const bool fine = columns && picture_groups_collect(picture, &groups);
	const uint32_t n = picture->n_columns;
	columns_begin(c, PART_SPACE);
	if (fine && n && groups.n) {
		write_moments(c, picture);
		for (uint32_t i = 0; i < n; i++)
			picture_rows_mix(picture, &picture->columns[i], &groups, columns[i]);
		columns_number(c, groups.n < PICTURE_ROWS ? groups.n : PICTURE_ROWS);
		write_rows(c, &groups);
		for (unsigned row = 0; row < PICTURE_ROWS; row++) {
			for (unsigned what = 0; what < 4 && columns[0][row].room; what++)
				write_series(c, columns, n, row, what);
		}
	} else {
		columns_number(c, 0);
	}
	columns_end(c);
	free(groups.items);
	free(columns);
	return fine && !c->failed;
}
