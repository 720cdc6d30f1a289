/* SPDX-License-Identifier: MIT */
#include "row_table.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

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

uint32_t row_table_add_first(struct row_table *t, uint32_t kind)
{
	const uint32_t row = add_row(t, kind, t->first_thread);
	if (row != NO_ROW)
		t->kinds[kind].first = row + 1;
	return row;
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
