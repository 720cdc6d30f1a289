/* SPDX-License-Identifier: MIT */
#include "fold.h"

#include <stdlib.h>

#include "turns.h"
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

uint32_t fold_places(const struct mst_symbol *symbols, uint32_t n_symbols, uint32_t *places)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_symbols; i++) {
		places[i] = n;
		if (fold_has_identity(symbols[i].role))
			n += symbols[i].count;
	}
	return n;
}

/* What is known of a record that has identity, symbol by symbol. */
struct named {
	uint64_t age;
	uint64_t turn; /* as it is stored */
};

/* Turns and ages, from the differences of indices that are in `values`. `bits` has room for one a record. */
static int find_turns(const struct mst_writer *w, const uint64_t *values, uint32_t *places, uint32_t *bits,
		      struct named *named)
{
	const struct chunk *chunk = &w->chunk;
	const uint64_t first = w->first_alloc;
	struct turns turns = { 0 };
	uint64_t allocs = first, known = 0;
	const int err = turns_begin(&turns, chunk->symbols, chunk->n_symbols);

	for (uint32_t i = 0; i < chunk->n_records && !err; i++) {
		const uint16_t number = chunk->records[i];
		const uint32_t role = chunk->symbols[number].role;

		if (role == MST_ALLOC) {
			bits[allocs++ - first] = turns_come(&turns, number);
		} else if (fold_has_identity(role)) {
			struct named *const n = &named[places[number]++];
			const uint64_t index = known + (uint64_t)wire_unzigzag(*values++);
			int64_t turn;
			const bool found = index >= first && index < allocs &&
					   turns_find(&turns, number, bits[index - first], &turn);

			if (index != UINT64_MAX)
				known = index;
			n->age = allocs - index;
			n->turn = found ? wire_zigzag(turn) + 1 : 0;
			if (found && role != MST_KEEP)
				turns_go(&turns, number);
		}
	}
	turns_finish(&turns);
	return err;
}

/* Each age as the difference to the one before, of all or only of those that have no turn. */
static void put_ages(const struct named *named, uint32_t n, bool all, struct bytes *to)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!all && named[i].turn)
			continue;
		bytes_varint(to, wire_zigzag((int64_t)(named[i].age - last)));
		last = named[i].age;
	}
}

static int fold_identity(struct mst_writer *w)
{
	const struct chunk *chunk = &w->chunk;
	const struct bytes *plain = &w->columns[COLUMN_IDENTITY];
	uint32_t *const places = plain->failed ? NULL : calloc(chunk->n_symbols + 1, sizeof(*places));
	const uint32_t n = places ? fold_places(chunk->symbols, chunk->n_symbols, places) : 0;
	uint32_t *const bits = calloc(chunk->n_records + 1, sizeof(*bits));
	uint64_t *const values = calloc((size_t)n + 1, sizeof(*values));
	struct named *const named = calloc((size_t)n + 1, sizeof(*named));
	const uint8_t *at = plain->data, *end = plain->data + plain->size;
	int err = places && bits && values && named ? 0 : MST_ERR_NOMEM;

	for (uint32_t i = 0; i < n && !err; i++)
		at = wire_varint(at, end, &values[i]);
	if (!err)
		err = find_turns(w, values, places, bits, named);
	if (!err) {
		put_planes(&w->columns[COLUMN_IDENTITY_PLANES], values, n);
		put_ages(named, n, true, &w->columns[COLUMN_AGES]);
		put_ages(named, n, false, &w->columns[COLUMN_OTHER_AGES]);
		for (uint32_t i = 0; i < n; i++)
			bytes_varint(&w->columns[COLUMN_TURNS], named[i].turn);
	}
	free(places);
	free(bits);
	free(values);
	free(named);
	return err;
}

/* Skips and deltas apart. */
static void fold_times(struct mst_writer *w)
{
	const struct bytes *plain = &w->columns[COLUMN_TIME];
	const uint8_t *at = plain->data, *end = plain->data + plain->size;
	uint64_t value = 0;

	while (!plain->failed && at != end) {
		at = wire_varint(at, end, &value);
		bytes_varint(&w->columns[COLUMN_SKIPS], value);
		at = wire_varint(at, end, &value);
		bytes_varint(&w->columns[COLUMN_DELTAS], value);
	}
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

/* Columns that say together what others do. */
struct fold {
	uint8_t ids[2];
	uint8_t n;
};

static size_t fold_size(struct mst_writer *w, const struct fold *fold)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < fold->n && sum != SIZE_MAX; i++) {
		const struct bytes *column = &w->columns[fold->ids[i]];
		const size_t size = column->size || column->failed ? stored_size(w, column) : 0;

		sum = size == SIZE_MAX ? SIZE_MAX : sum + size + (size ? UNIT_COLUMN : 0);
	}
	return sum;
}

/* Leaves the smallest of n folds, which all say the same. */
static void keep_smallest(struct mst_writer *w, const struct fold *folds, size_t n)
{
	size_t best = 0, least = fold_size(w, &folds[0]);

	for (size_t i = 1; i < n; i++) {
		const size_t size = fold_size(w, &folds[i]);
		const bool better = size < least;
		const struct fold *worse = &folds[better ? best : i];

		for (uint32_t k = 0; k < worse->n; k++)
			bytes_clear(&w->columns[worse->ids[k]]);
		best = better ? i : best;
		least = better ? size : least;
	}
}

int fold_columns(struct mst_writer *w)
{
	static const struct fold records[] = { { { COLUMN_RECORDS }, 1 }, { { COLUMN_RECORD_PLANES }, 1 } };
	static const struct fold identity[] = { { { COLUMN_IDENTITY }, 1 },
						{ { COLUMN_IDENTITY_PLANES }, 1 },
						{ { COLUMN_AGES }, 1 },
						{ { COLUMN_TURNS, COLUMN_OTHER_AGES }, 2 } };
	static const struct fold times[] = { { { COLUMN_TIME }, 1 }, { { COLUMN_SKIPS, COLUMN_DELTAS }, 2 } };
	int err = 0;

	if (w->chunk.n_symbols > 256) {
		fold_records(w);
		keep_smallest(w, records, sizeof(records) / sizeof(*records));
	}
	if (w->columns[COLUMN_TIME].size) {
		fold_times(w);
		keep_smallest(w, times, sizeof(times) / sizeof(*times));
	}
	if (w->columns[COLUMN_IDENTITY].size && !(err = fold_identity(w)))
		keep_smallest(w, identity, sizeof(identity) / sizeof(*identity));
	return err;
}
