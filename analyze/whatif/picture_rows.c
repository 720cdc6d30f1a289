/* SPDX-License-Identifier: MIT */
#include "picture_rows.h"

#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

bool picture_groups_collect(const struct picture *picture, struct picture_groups *groups)
{
	size_t n = 0;
	groups->items = malloc((picture->n_cells + 1) * sizeof(*groups->items));
	if (!groups->items)
		return false;
	for (size_t i = 0; i < picture->n_cells; i++)
		groups->items[i] = picture->cells[i].group;
	qsort(groups->items, picture->n_cells, sizeof(*groups->items), compare_numbers);
	for (size_t i = 0; i < picture->n_cells; i++) {
		if (i == 0 || groups->items[i] != groups->items[n - 1])
			groups->items[n++] = groups->items[i];
	}
	groups->n = n;
	return true;
}

void picture_rows_mix(const struct picture *picture, const struct picture_column *column,
		      const struct picture_groups *groups, struct picture_row rows[PICTURE_ROWS])
{
	size_t cell = column->first;
	memset(rows, 0, PICTURE_ROWS * sizeof(*rows));
	for (size_t rank = 0; rank < groups->n; rank++) {
		struct picture_row *const row = &rows[picture_row_of(groups, rank)];
		row->room += PICTURE_GROUP_BYTES;
		if (cell == column->last || picture->cells[cell].group != groups->items[rank])
			continue;
		row->resident += picture->cells[cell].resident;
		row->live += picture->cells[cell].live;
		row->holes += picture->cells[cell].holes;
		row->empty += picture->cells[cell].empty;
		cell++;
	}
}
