/* SPDX-License-Identifier: MIT */
#include "fold.h"

#include <stdlib.h>

#include "wire.h"
#include "writer.h"

/* The lowest byte of each value, then the next one of each ... as many as the largest needs. */
static void put_planes(struct bytes *to, const uint64_t *values, uint32_t n)
{
	uint64_t all = 0;
	unsigned width = 1;
	uint8_t *at;

	for (uint32_t i = 0; i < n; i++)
		all |= values[i];
	while (width < sizeof(all) && all >> 8 * width)
		width++;
	at = bytes_reserve(to, (size_t)n * width);
	for (unsigned plane = 0; at && plane < width; plane++) {
		for (uint32_t i = 0; i < n; i++)
			*at++ = (uint8_t)(values[i] >> 8 * plane);
	}
	if (at)
		to->size += (size_t)n * width;
}

static void fold_records(struct mst_writer *w)
{
	const struct chunk *chunk = &w->chunk;
	struct bytes *to = &w->columns[COLUMN_RECORD_PLANES];
	uint8_t *at = bytes_reserve(to, 2 * (size_t)chunk->n_records);

	if (!at)
		return;
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		at[i] = (uint8_t)chunk->records[i];
		at[chunk->n_records + i] = (uint8_t)(chunk->records[i] >> 8);
	}
	to->size += 2 * (size_t)chunk->n_records;
}

/* Where the records of each symbol are, if those that have identity stand symbol by symbol. Returns how many there are. */
static uint32_t place_symbols(const struct chunk *chunk, uint32_t *places)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunk->n_symbols; i++) {
		places[i] = n;
		if (fold_has_identity(chunk->symbols[i].role))
			n += chunk->symbols[i].count;
	}
	return n;
}

/* Ages symbol by symbol, each as the difference to the one before. */
static void put_ages(const struct mst_writer *w, const uint64_t *values, uint32_t *places, uint64_t *ages,
		     struct bytes *to)
{
	const struct chunk *chunk = &w->chunk;
	uint64_t allocs = w->first_alloc, known = 0, last = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint16_t number = chunk->records[i];

		if (chunk->symbols[number].role == MST_ALLOC)
			allocs++;
		if (!fold_has_identity(chunk->symbols[number].role))
			continue;
		const uint64_t index = known + (uint64_t)wire_unzigzag(values[n++]);

		if (index != UINT64_MAX)
			known = index;
		ages[places[number]++] = allocs - index;
	}
	for (uint32_t i = 0; i < n; i++) {
		bytes_varint(to, wire_zigzag((int64_t)(ages[i] - last)));
		last = ages[i];
	}
}

static int fold_identity(struct mst_writer *w)
{
	const struct bytes *plain = &w->columns[COLUMN_IDENTITY];
	uint32_t *const places = plain->failed ? NULL : malloc((w->chunk.n_symbols + 1) * sizeof(*places));
	const uint32_t n = places ? place_symbols(&w->chunk, places) : 0;
	uint64_t *const values = malloc(2 * ((size_t)n + 1) * sizeof(*values));
	const uint8_t *at = plain->data, *end = plain->data + plain->size;
	int err = places && values ? 0 : MST_ERR_NOMEM;

	if (!err) {
		for (uint32_t i = 0; i < n; i++)
			at = wire_varint(at, end, &values[i]);
		put_planes(&w->columns[COLUMN_IDENTITY_PLANES], values, n);
		put_ages(w, values, places, values + n, &w->columns[COLUMN_AGES]);
	}
	free(places);
	free(values);
	return err;
}

/* SIZE_MAX: none that could be written. */
static size_t stored_size(struct mst_writer *w, const struct bytes *column)
{
	const size_t bound = ZSTD_compressBound(column->size);
	uint8_t *to;
	size_t size;

	bytes_clear(&w->out);
	to = bytes_reserve(&w->out, bound);
	size = to && !column->failed ? ZSTD_compress2(w->zstd, to, bound, column->data, column->size)
				     : SIZE_MAX;
	return ZSTD_isError(size) ? SIZE_MAX : size;
}

/* Leaves the smallest of n columns, which all say the same. */
static void keep_smallest(struct mst_writer *w, const uint8_t *ids, size_t n)
{
	size_t best = 0, least = stored_size(w, &w->columns[ids[0]]);

	for (size_t i = 1; i < n; i++) {
		const size_t size = stored_size(w, &w->columns[ids[i]]);
		const bool better = size < least;

		bytes_clear(&w->columns[ids[better ? best : i]]);
		best = better ? i : best;
		least = better ? size : least;
	}
}

int fold_columns(struct mst_writer *w)
{
	static const uint8_t records[] = { COLUMN_RECORDS, COLUMN_RECORD_PLANES };
	static const uint8_t identity[] = { COLUMN_IDENTITY, COLUMN_IDENTITY_PLANES, COLUMN_AGES };
	int err = 0;

	if (w->chunk.n_symbols > 256) {
		fold_records(w);
		keep_smallest(w, records, sizeof(records));
	}
	if (w->columns[COLUMN_IDENTITY].size && !(err = fold_identity(w)))
		keep_smallest(w, identity, sizeof(identity));
	return err;
}
