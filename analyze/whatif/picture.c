/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include <stdlib.h>

#include "array.h"

/* Pages come in ascending order. */
static void add_page(void *context, const struct blame_page *page)
{
	struct picture *const p = context;
	struct picture_column *const column = &p->columns[p->n_columns];
	const uint64_t group = page->number / PICTURE_GROUP;
	if (p->n_cells == column->first || p->cells[p->n_cells - 1].group != group) {
		if (!array_reserve(&p->cells, p->n_cells, &p->room_cells, sizeof(*p->cells))) {
			p->no_memory = true;
			return;
		}
		p->cells[p->n_cells++] = (struct picture_cell){ .group = group };
	}
	struct picture_cell *const cell = &p->cells[p->n_cells - 1];
	cell->resident += 4096;
	cell->live += page->live;
	cell->holes += page->live ? page->holes : 0;
	cell->empty += page->live == 0 && page->holes ? 4096 : 0;
	column->resident += 4096;
}

bool picture_add(struct picture *picture, const struct player_process *player, const struct page_list *before,
		 const struct op_stream *stream, const struct mst_kind *kinds, uint32_t n_kinds)
{
	struct blame blame = { .page = add_page, .context = picture };
	if (picture->n_columns == PICTURE_COLUMNS)
		return true;
	struct picture_column *const column = &picture->columns[picture->n_columns];
	*column = (struct picture_column){ .moment = stream->now, .first = picture->n_cells };
	const bool fine = blame_find(&blame, player, before, stream, kinds, n_kinds) && !picture->no_memory;
	column->last = picture->n_cells;
	picture->n_columns++;
	blame_finish(&blame);
	return fine;
}

void picture_finish(struct picture *picture)
{
	free(picture->cells);
	*picture = (struct picture){ 0 };
}
