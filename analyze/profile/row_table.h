/* SPDX-License-Identifier: MIT */
/*
 * Blocks counted by kind and allocating thread: live ones, all that were allocated, and those that were live at a point
 * in time. A row keeps the last of these lazily: it saves its live blocks when they change for the first time after the
 * point, so moving the point costs nothing.
 *
 * Counts are unsigned and may wrap: a hostile trace may free more than it allocates.
 */
#ifndef ANALYZE_ROW_TABLE_H
#define ANALYZE_ROW_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "index_map.h"

#define NO_ROW UINT32_MAX

struct row {
	uint32_t kind, thread;
	uint64_t allocated, live;
	uint64_t saved; /* blocks live at point number `point`; stale if a later point has been set */
	uint64_t point;
};

/* Private. */
struct kind_rows {
	uint32_t first;  /* row + 1 of the first thread; 0: none so far */
	uint32_t recent; /* row + 1 of another thread, the one that was asked for last */
};

struct row_table {
	struct row *rows;
	uint32_t n, room;
	struct kind_rows *kinds; /* private: by kind */
	uint32_t n_kinds, room_kinds;
	struct index_map others; /* private: (kind, thread) to row, for threads other than the first */
	uint32_t first_thread;
	uint64_t point; /* how often the point in time has been set; rows have this number or a lower one */
};

/* Zero-initialised is an empty table. */
void row_table_finish(struct row_table *table);

/* Call before looking up kinds below `n`. False: no memory. */
bool row_table_reserve(struct row_table *table, uint32_t n);

/* Private: makes the row of the first thread's blocks. */
uint32_t row_table_add_first(struct row_table *table, uint32_t kind);

/* Find or make the row of a kind's blocks: the first thread's; another thread's. NO_ROW: no memory. */
static inline uint32_t row_table_first(struct row_table *table, uint32_t kind)
{
	assert(kind < table->n_kinds);
	const uint32_t first = table->kinds[kind].first;
	return first ? first - 1 : row_table_add_first(table, kind);
}
uint32_t row_table_other(struct row_table *table, uint32_t kind, uint32_t thread);

/* The row, ready for a change of its live blocks. Valid until the next row is made. */
static inline struct row *row_table_change(struct row_table *table, uint32_t id)
{
	assert(id < table->n);
	struct row *row = &table->rows[id];
	assert(row->point <= table->point);
	if (row->point != table->point) {
		row->saved = row->live;
		row->point = table->point;
	}
	return row;
}

/* What was allocated so far no longer counts. */
void row_table_forget_allocated(struct row_table *table);

/* Blocks that were live at the point; 0 if it has never been set. */
uint64_t row_table_live_then(const struct row_table *table, const struct row *row);

#endif
