/* SPDX-License-Identifier: MIT */
/* Borders, the series of points, marks, and what each node did in each bucket. */
#include "parts.h"

enum { SAMPLES_MOST = 2000 }; /* of resident memory */

static void write_borders(struct parts *p)
{
	const struct buckets *b = &p->buckets;
	struct columns *c = &p->columns;
	columns_begin(c, PART_BORDERS);
	columns_number(c, b->n);
	for (uint32_t i = 0; i <= b->n; i++)
		columns_signed(c, b->border_ns[i] - (i ? b->border_ns[i - 1] : 0));
	for (uint32_t i = 0; i <= b->n; i++)
		columns_number(c, b->flags[i]);
	for (uint32_t i = 0; i < b->n; i++)
		columns_signed(c, b->highest_ns[i] - b->border_ns[i]);
	for (uint32_t i = 0; i < b->n; i++)
		columns_signed(c, b->highest[i]);
	columns_end(c);
}

static void write_points(struct parts *p)
{
	uint32_t n;
	const struct flows_point *points = flows_points(p->flows, &n);
	struct columns *c = &p->columns;
	columns_number(c, n);
	for (uint32_t i = 0; i < n; i++)
		columns_signed(c, points[i].time_ns - (i ? points[i - 1].time_ns : 0));
	for (uint32_t i = 0; i < n; i++)
		columns_signed(c, points[i].bytes - (i ? points[i - 1].bytes : 0));
	for (uint32_t i = 0; i < n; i++)
		columns_signed(c, points[i].blocks - (i ? points[i - 1].blocks : 0));
	for (uint32_t i = 0; i < n; i++)
		columns_signed(c, points[i].calls - (i ? points[i - 1].calls : 0));
}

static void write_samples(struct parts *p)
{
	uint32_t all;
	const struct mst_memory_sample *samples = mst_reader_memory(p->report->reader, &all);
	const unsigned shift = mst_reader_time_shift(p->report->reader);
	const uint64_t n = all < SAMPLES_MOST ? all : SAMPLES_MOST;
	struct columns *c = &p->columns;
	uint64_t before = 0;
	columns_number(c, n);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t ns = samples[(i + 1) * all / n - 1].time << shift;
		columns_signed(c, ns - before);
		before = ns;
	}
	before = 0;
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t resident = samples[(i + 1) * all / n - 1].resident;
		columns_signed(c, resident - before);
		before = resident;
	}
}

static void write_marks(struct parts *p)
{
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(p->report->reader, &n_kinds);
	const struct landmarks *l = flows_landmarks(p->flows);
	const uint32_t n = landmarks_kept(l);
	struct columns *c = &p->columns;
	columns_begin(c, PART_MARKS);
	columns_number(c, l->n_marks);
	columns_number(c, n);
	for (uint32_t i = 0; i < n; i++)
		columns_signed(c, l->marks[i].time_ns - (i ? l->marks[i - 1].time_ns : 0));
	for (uint32_t i = 0; i < n; i++)
		columns_number(c, texts_add(&p->texts, landmark_name(&kinds[l->marks[i].kind])));
	columns_end(c);
}

/* How many cells each node has, before their columns. */
static void write_counts(struct parts *p)
{
	size_t at = 0;
	for (uint32_t node = 0; node < p->nodes.n; node++) {
		const size_t from = at;
		while (at < p->cells.n && p->cells.items[at].stack == node)
			at++;
		columns_number(&p->columns, at - from);
	}
}

static void write_cells(struct parts *p)
{
	const struct flow *items = p->cells.items;
	const size_t n = p->cells.n;
	struct columns *c = &p->columns;
	columns_begin(c, PART_CELLS);
	columns_number(c, n);
	for (uint32_t node = 0; node < p->nodes.n; node++)
		columns_signed(c, p->cells.initial[node].came_bytes);
	for (uint32_t node = 0; node < p->nodes.n; node++)
		columns_signed(c, p->cells.initial[node].came_blocks);
	write_counts(p);
	for (size_t i = 0; i < n; i++) {
		const bool first = i == 0 || items[i - 1].stack != items[i].stack;
		columns_number(c, items[i].slice - (first ? 0 : items[i - 1].slice));
	}
	for (size_t i = 0; i < n; i++)
		columns_number(c, items[i].came_bytes);
	for (size_t i = 0; i < n; i++)
		columns_number(c, items[i].came_blocks);
	for (size_t i = 0; i < n; i++)
		columns_signed(c, items[i].came_bytes - items[i].went_bytes);
	for (size_t i = 0; i < n; i++)
		columns_signed(c, items[i].came_blocks - items[i].went_blocks);
	for (size_t i = 0; i < n; i++)
		columns_signed(c, items[i].high_bytes);
	for (size_t i = 0; i < n; i++)
		columns_signed(c, items[i].high_blocks);
	columns_end(c);
}

bool part_time(struct parts *p)
{
	write_borders(p);
	columns_begin(&p->columns, PART_SERIES);
	write_points(p);
	write_samples(p);
	columns_end(&p->columns);
	write_marks(p);
	write_cells(p);
	return !p->columns.failed;
}
