/* SPDX-License-Identifier: MIT */
#include "fleet_gather.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

static const char *const figure_columns[FLEET_FIGURES] = { "peak_bytes",  "peak_blocks", "end_bytes",
							   "end_blocks",  "alloc_bytes", "alloc_blocks",
							   "byte_seconds" };

bool fleet_gather_init(struct fleet_gather *g)
{
	bool fine = true;
	*g = (struct fleet_gather){ .failed = 0 };
	for (unsigned i = 0; i < FLEET_PARTS; i++)
		fine = hash_index_init(&g->parts[i].index) && fine;
	return fine;
}

void fleet_gather_finish(struct fleet_gather *g)
{
	for (unsigned i = 0; i < FLEET_PARTS; i++) {
		hash_index_finish(&g->parts[i].index);
		free(g->parts[i].items);
	}
	free(g->runs);
	pool_finish(&g->pool);
}

static bool keep(struct fleet_gather *g, const char *text, const char **kept)
{
	*kept = pool_copy(&g->pool, text);
	return *kept;
}

/* The sum of a key, made if need be: then *fresh. NULL: no memory. */
static struct fleet_sum *find(struct fleet_sums *sums, uint64_t key, bool *fresh)
{
	const uint32_t hash = hash_words(key, 0);
	uint32_t id;
	*fresh = false;
	if (!hash_index_reserve(&sums->index) ||
	    !array_reserve(&sums->items, sums->n, &sums->room, sizeof(*sums->items)))
		return NULL;
	for (uint32_t at = hash_index_first(&sums->index, hash);
	     hash_index_next(&sums->index, hash, &at, &id);) {
		if (sums->items[id].key == key)
			return &sums->items[id];
	}
	hash_index_add(&sums->index, hash, sums->n);
	*fresh = true;
	sums->items[sums->n] = (struct fleet_sum){ .key = key };
	return &sums->items[sums->n++];
}

static bool add_row(struct fleet_gather *g, const struct fleet_reader *r, enum fleet_part part)
{
	bool fresh;
	struct fleet_sum *sum = find(&g->parts[part], fleet_reader_key(r, "key"), &fresh);
	if (!sum)
		return false;
	if (fresh) {
		sum->line = fleet_reader_number(r, "line");
		sum->from = fleet_reader_number(r, "start");
		sum->until = fleet_reader_number(r, "stop");
		if (!keep(g, fleet_reader_text(r, "name"), &sum->name) ||
		    !keep(g, fleet_reader_text(r, "file"), &sum->file))
			return false;
	}
	for (unsigned i = 0; i < FLEET_FIGURES; i++)
		sum->figures[i] += fleet_reader_number(r, figure_columns[i]);
	const uint64_t growth = fleet_reader_number(r, "growth");
	sum->runs++;
	sum->growing += growth > 0;
	sum->growth += growth;
	sum->fastest = growth > sum->fastest ? growth : sum->fastest;
	return true;
}

static bool add_run(struct fleet_gather *g, const struct fleet_reader *r, const char *name, bool partial)
{
	if (!array_reserve(&g->runs, g->n_runs, &g->room_runs, sizeof(*g->runs)))
		return false;
	struct fleet_member *m = &g->runs[g->n_runs];
	*m = (struct fleet_member){
		.key = fleet_reader_key(r, "run"),
		.partial = partial,
		.peak_bytes = fleet_reader_number(r, "peak_bytes"),
		.end_bytes = fleet_reader_number(r, "end_bytes"),
		.byte_seconds = fleet_reader_number(r, "byte_seconds"),
		.duration_ms = fleet_reader_number(r, "duration_ms"),
	};
	if (!keep(g, name, &m->name) || !keep(g, fleet_reader_text(r, "service"), &m->service))
		return false;
	g->n_runs++;
	return true;
}

static unsigned part_of(const struct fleet_reader *r)
{
	unsigned part = 0;
	while (part < FLEET_PARTS && strcmp(fleet_reader_text(r, "part"), fleet_parts[part]) != 0)
		part++;
	return part;
}

bool fleet_gather_read(struct fleet_gather *g, struct fleet_reader *r, const char *name, bool partial)
{
	bool known = false, first = true, fresh;
	while (fleet_reader_next(r) == 1) {
		const unsigned part = part_of(r);
		if (part == FLEET_PARTS) /* the line of names */
			continue;
		if (first) {
			if (!find(&g->parts[FLEET_RUN], fleet_reader_key(r, "run"), &fresh))
				return false;
			known = !fresh;
			first = false;
		}
		const bool wanted = part == FLEET_SIZE || part == FLEET_SITE || part == FLEET_FUNCTION;
		if (wanted && !known && !add_row(g, r, part))
			return false;
		if (part != FLEET_RUN)
			continue;
		g->twice += known;
		return known || add_run(g, r, name, partial);
	}
	return false;
}
