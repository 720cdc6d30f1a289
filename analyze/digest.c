/* SPDX-License-Identifier: MIT */
#include "digest.h"

#include <stdlib.h>

#define SPELL_RECORDS 32u /* short enough that few settings find something in it */

/* What a record of a symbol does; nothing if the block was never seen allocated. */
struct weight {
	uint64_t useful, rounded, blocks;
	bool pair; /* an OUT: the next record is of the same call */
};

struct digest {
	struct observer observer;
	unsigned alignment;
	struct weight *weights; /* by symbol of the present chunk */
	uint32_t n_weights;
	struct spell *spells;
	uint32_t n_spells, capacity;
};

static struct weight weight_of(const struct digest *d, const struct mst_kind *kind, uint32_t role)
{
	const uint64_t mask = d->alignment - 1, cap = mst_op_is_custom(kind->op) ? 0 : kind->cap;
	const uint64_t rounded = cap ? (cap + mask) & ~mask : kind->size;
	struct weight w = { .pair = role == MST_OUT };

	if (kind->op == MST_OP_UNKNOWN)
		return w;
	if (role == MST_ALLOC)
		w = (struct weight){ kind->size, rounded, 1, false };
	else if (role == MST_FREE || role == MST_OUT)
		w = (struct weight){ -kind->size, -rounded, -(uint64_t)1, w.pair };
	return w;
}

static uint64_t absolute(uint64_t change)
{
	return (int64_t)change < 0 ? -change : change;
}

static void add(struct spell *s, uint64_t useful, uint64_t rounded, uint64_t blocks)
{
	s->useful += useful;
	s->rounded += rounded;
	s->blocks += blocks;
	s->moved += absolute(rounded);
	s->steps += absolute(blocks);
	if ((int64_t)s->rounded > (int64_t)s->most_rounded)
		s->most_rounded = s->rounded;
	if ((int64_t)s->blocks > (int64_t)s->most_blocks)
		s->most_blocks = s->blocks;
}

/* The spell that begins with record `i`. */
static struct spell sum_up(const struct digest *d, const struct mst_chunk *chunk, uint32_t i)
{
	struct spell s = { 0 };
	const uint32_t end = chunk->n_records - i < SPELL_RECORDS ? chunk->n_records : i + SPELL_RECORDS;

	for (; i < end; i++) {
		const struct weight *w = &d->weights[chunk->records[i]];
		uint64_t useful = w->useful, rounded = w->rounded, blocks = w->blocks;
		bool changes = blocks != 0;

		if (w->pair) {
			/* The reader has proved that there is a next record. */
			w = &d->weights[chunk->records[++i]];
			useful += w->useful;
			rounded += w->rounded;
			blocks += w->blocks;
			changes |= w->blocks != 0;
		}
		s.changes += changes;
		add(&s, useful, rounded, blocks);
	}
	s.end = i;
	return s;
}

static bool reserve(struct digest *d, uint32_t n_symbols, uint32_t n_spells)
{
	if (n_symbols > d->n_weights) {
		struct weight *weights = realloc(d->weights, n_symbols * sizeof(*weights));

		if (!weights)
			return false;
		d->weights = weights;
		d->n_weights = n_symbols;
	}
	if (n_spells > d->capacity) {
		struct spell *spells = realloc(d->spells, n_spells * sizeof(*spells));

		if (!spells)
			return false;
		d->spells = spells;
		d->capacity = n_spells;
	}
	return true;
}

static int digest_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct digest *d = (struct digest *)observer;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	if (!reserve(d, chunk->n_symbols, chunk->n_records / SPELL_RECORDS + 1))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < chunk->n_symbols; i++)
		d->weights[i] = weight_of(d, &kinds[chunk->symbols[i].kind], chunk->symbols[i].role);
	d->n_spells = 0;
	for (uint32_t i = 0; i < chunk->n_records; i = d->spells[d->n_spells++].end)
		d->spells[d->n_spells] = sum_up(d, chunk, i);
	return 0;
}

/* It is there for those who look at records. */
static bool digest_sums_suffice(struct observer *observer, const struct mst_reader *reader,
				const struct mst_chunk *chunk)
{
	(void)observer;
	(void)reader;
	(void)chunk;
	return true;
}

static bool digest_satisfied(const struct observer *observer)
{
	(void)observer;
	return true;
}

struct digest *digest_create(unsigned alignment)
{
	static const struct observer_impl impl = {
		.chunk = digest_chunk,
		.sums_suffice = digest_sums_suffice,
		.satisfied = digest_satisfied,
	};
	struct digest *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->observer.impl = &impl;
	d->observer.spared = MST_ALL_COLUMNS;
	d->alignment = alignment;
	return d;
}

void digest_destroy(struct digest *d)
{
	if (!d)
		return;
	free(d->weights);
	free(d->spells);
	free(d);
}

struct observer *digest_observer(struct digest *d)
{
	return &d->observer;
}

unsigned digest_alignment(const struct digest *d)
{
	return d->alignment;
}

const struct spell *digest_spells(const struct digest *d)
{
	return d->spells;
}
