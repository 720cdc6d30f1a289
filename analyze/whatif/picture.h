/* SPDX-License-Identifier: MIT */
/*
 * The address space of a player over time: at some moments, what the resident pages hold. Neighbouring pages are added up
 * to groups; groups that never had a resident page take no room in the picture.
 */
#ifndef ANALYZE_PICTURE_H
#define ANALYZE_PICTURE_H

#include "blame.h"
#include "out.h"

enum { PICTURE_GROUP = 16, PICTURE_COLUMNS = OP_SAMPLES / 2 + 2 };

/* Pages of a group at a moment. */
struct picture_cell {
	uint64_t group;                        /* address / (PICTURE_GROUP * 4096) */
	uint32_t resident, live, holes, empty; /* bytes */
};

struct picture_column {
	struct op_moment moment;
	uint64_t resident;  /* bytes, of all cells */
	size_t first, last; /* cells, `last` excluded; ascending groups */
};

/* Zero-initialise. */
struct picture {
	struct picture_cell *cells;
	size_t n_cells, room_cells;
	struct picture_column columns[PICTURE_COLUMNS];
	uint32_t n_columns;
	bool no_memory;
};

/* Adds a column. False: no memory, or /proc cannot be read: see errno. */
bool picture_add(struct picture *picture, const struct player_process *player, const struct page_list *before,
		 const struct op_stream *stream, const struct mst_kind *kinds, uint32_t n_kinds);

/* Writes SVG under a title, which is escaped. False: no memory. Errors of writing are the struct out's. */
bool picture_write(const struct picture *picture, const char *title, struct out *out);

void picture_finish(struct picture *picture);

#endif
