/* SPDX-License-Identifier: MIT */
#include "row_table.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

struct kind_rows {
	uint32_t first;  /* row + 1 of the first thread; 0: none so far */
	uint32_t recent; /* row + 1 of another thread, the one that was asked for last */
};

void row_table_finish(struct row_table *t)
{
	index_map_finish(&t->others);
	free(t->kinds);
	free(t->rows);
}

bool row_table_reserve(struct row_table *t, uint32_t n)
{
	if (n && !array_reserve_zeroed(&t->kinds, n - 1, &t->room_kinds, sizeof(*t->kinds)))
		return false;
	t->n_kinds = n > t->n_kinds ? n : t->n_kinds;
	return true;
}

static uint32_t add_row(struct row_table *t, uint32_t kind, uint32_t thread)
{
	if (!array_reserve(&t->rows, t->n, &t->room, sizeof(*t->rows)))
		return NO_ROW;
	t->rows[t->n] = (struct row){ .kind = kind, .thread = thread, .point = t->point };
	return t->n++;
}

uint32_t row_table_first(struct row_table *t, uint32_t kind)
{
	assert(kind < t->n_kinds);
	uint32_t *const first = &t->kinds[kind].first;
	if (*first == 0)
		*first = add_row(t, kind, t->first_thread) + 1;
	return *first - 1;
}

uint32_t row_table_other(struct row_table *t, uint32_t kind, uint32_t thread)
{
	assert(kind < t->n_kinds && thread != t->first_thread);
	uint32_t *const recent = &t->kinds[kind].recent;
	if (*recent && t->rows[*recent - 1].thread == thread)
		return *recent - 1;
	const uint64_t key = (uint64_t)kind << 32 | thread;
	uint64_t row;
	if (!index_map_find(&t->others, key, &row)) {
		row = add_row(t, kind, thread);
		if (row == NO_ROW || !index_map_put(&t->others, key, row))
			return NO_ROW;
	}
	*recent = (uint32_t)row + 1;
	return (uint32_t)row;
}

struct row *row_table_change(struct row_table *t, uint32_t id)
{
	assert(id < t->n);
	struct row *row = &t->rows[id];
	assert(row->point <= t->point);
	if (row->point != t->point) {
		row->saved = row->live;
		row->point = t->point;
	}
	return row;
}

void row_table_forget_allocated(struct row_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		t->rows[i].allocated = 0;
}

uint64_t row_table_live_then(const struct row_table *t, const struct row *row)
{
	if (t->point == 0)
		return 0;
	return row->point == t->point ? row->saved : row->live;
}
