/* SPDX-License-Identifier: MIT */
#include "recode.h"

#include <stdlib.h>

#include "wire.h"
#include "writer.h"

/* At which forms are compared: trying them at 19 takes three times as long in all, for 0.3 % of the bytes. */
#define TRIED_LEVEL 12

/* The records with 0 for the first one of each token, which are numbered as they come, and the others one higher. */
static void put_next_records(struct bytes *to, const struct chunk *chunk)
{
	const size_t width = events_narrow_next(chunk->n_tokens) ? 1 : 2;
	uint8_t *at = bytes_reserve(to, chunk->n_records * width);
	uint32_t next = 0;

	if (!at)
		return;
	for (uint32_t i = 0; i < chunk->n_records; i++, at += width) {
		const uint16_t number = chunk->records[i];
		const uint16_t value = number == next ? 0 : number + 1;

		next += number == next;
		at[0] = (uint8_t)value;
		if (width == 2)
			at[1] = (uint8_t)(value >> 8);
	}
	to->size += chunk->n_records * width;
}

/* Numbers of two bytes: all the low ones, then all the high ones. */
static void put_planes(struct bytes *to, const struct bytes *numbers)
{
	const size_t n = numbers->size / 2;
	uint8_t *at = numbers->failed ? NULL : bytes_reserve(to, numbers->size);

	to->failed |= numbers->failed;
	if (!at)
		return;
	for (size_t i = 0; i < n; i++) {
		at[i] = numbers->data[2 * i];
		at[n + i] = numbers->data[2 * i + 1];
	}
	to->size += numbers->size;
}

uint32_t recode_places(const struct mst_token *tokens, uint32_t n_tokens, uint32_t *places)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_tokens; i++) {
		places[i] = n;
		if (recode_has_identity(tokens[i].role))
			n += tokens[i].count;
	}
	return n;
}

/* What is known of a record that names a block. */
struct named {
	uint64_t difference; /* as it is stored */
	uint32_t number;     /* of its token */
};

/* The records that name a block, in turn. `named` has room for all. */
static void list_named(const struct mst_writer *w, struct named *named)
{
	const struct chunk *chunk = &w->chunk;
	const struct bytes *plain = &w->columns[COLUMN_ORDINALS];
	const uint8_t *at = plain->data, *end = plain->data + plain->size;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint16_t number = chunk->records[i];

		if (!recode_has_identity(chunk->tokens[number].role))
			continue;
		named->number = number;
		at = wire_varint(at, end, &named->difference);
		named++;
	}
}

/* The same numbers token by token: `places` where each begins, `values` has room for all. */
static void put_by_token(struct bytes *to, const struct named *named, uint32_t n, uint32_t *places,
			 uint64_t *values)
{
	for (uint32_t i = 0; i < n; i++)
		values[places[named[i].number]++] = named[i].difference;
	for (uint32_t i = 0; i < n; i++)
		bytes_varint(to, values[i]);
}

/* The differences of each record's age to the one before it. `ages`: the last ones by token, 1 each. */
static void put_in_a_row(struct bytes *to, const struct named *named, uint32_t n, uint64_t *ages)
{
	uint64_t last = 1;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t *const known = &ages[named[i].number];
		const uint64_t age = *known + (uint64_t)wire_unzigzag(named[i].difference);

		bytes_varint(to, wire_zigzag((int64_t)(age - last)));
		if (age)
			*known = last = age;
	}
}

static int recode_ordinals(struct mst_writer *w)
{
	const struct chunk *chunk = &w->chunk;
	uint32_t *const places = calloc(chunk->n_tokens + 1, sizeof(*places));
	const uint32_t n = places ? recode_places(chunk->tokens, chunk->n_tokens, places) : 0;
	struct named *const named = calloc((size_t)n + 1, sizeof(*named));
	uint64_t *const values = calloc((size_t)n + 1, sizeof(*values));
	uint64_t *const ages = calloc(chunk->n_tokens + 1, sizeof(*ages));
	const int err = places && named && values && ages ? 0 : MST_ERR_NOMEM;

	if (!err) {
		list_named(w, named);
		put_by_token(&w->columns[COLUMN_ORDINALS_BY_TOKEN], named, n, places, values);
		for (uint32_t i = 0; i < chunk->n_tokens; i++)
			ages[i] = 1;
		put_in_a_row(&w->columns[COLUMN_ORDINALS_IN_A_ROW], named, n, ages);
	}
	free(places);
	free(named);
	free(values);
	free(ages);
	return err;
}

/* Skips and deltas apart. */
static void recode_times(struct mst_writer *w)
{
	const struct bytes *plain = &w->columns[COLUMN_TIME];
	const uint8_t *at = plain->data, *end = plain->data + plain->size;
	uint64_t value = 0;

	while (at != end) {
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
struct recode {
	uint8_t ids[2];
	uint8_t n;
};

static size_t recode_size(struct mst_writer *w, const struct recode *recode)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < recode->n && sum != SIZE_MAX; i++) {
		const struct bytes *column = &w->columns[recode->ids[i]];
		const size_t size = column->size || column->failed ? stored_size(w, column) : 0;

		sum = size == SIZE_MAX ? SIZE_MAX : sum + size + (size ? UNIT_COLUMN : 0);
	}
	return sum;
}

/* Leaves the smallest of n folds, which all say the same. */
static void keep_smallest(struct mst_writer *w, const struct recode *folds, size_t n)
{
	size_t best = 0, least;

	writer_pack_at(w, TRIED_LEVEL);
	least = recode_size(w, &folds[0]);
	for (size_t i = 1; i < n; i++) {
		const size_t size = recode_size(w, &folds[i]);
		const bool better = size < least;
		const struct recode *worse = &folds[better ? best : i];

		for (uint32_t k = 0; k < worse->n; k++)
			bytes_clear(&w->columns[worse->ids[k]]);
		best = better ? i : best;
		least = better ? size : least;
	}
	writer_pack_at(w, w->level);
}

static void recode_records(struct mst_writer *w)
{
	static const struct recode folds[] = { { { COLUMN_RECORDS }, 1 },
					       { { COLUMN_RECORD_PLANES }, 1 },
					       { { COLUMN_NEXT_RECORDS }, 1 },
					       { { COLUMN_NEXT_PLANES }, 1 } };
	static const struct recode narrow_folds[] = { { { COLUMN_RECORDS }, 1 },
						      { { COLUMN_NEXT_RECORDS }, 1 } };
	const uint32_t n_tokens = w->chunk.n_tokens;
	const bool narrow = events_narrow(n_tokens);
	/* Where one number more needs a byte more, the next one is not told. */
	const bool next = events_narrow_next(n_tokens) == narrow && n_tokens < MST_MAX_TOKENS;

	if (next)
		put_next_records(&w->columns[COLUMN_NEXT_RECORDS], &w->chunk);
	if (!narrow)
		put_planes(&w->columns[COLUMN_RECORD_PLANES], &w->columns[COLUMN_RECORDS]);
	if (!narrow && next)
		put_planes(&w->columns[COLUMN_NEXT_PLANES], &w->columns[COLUMN_NEXT_RECORDS]);
	keep_smallest(w, narrow ? narrow_folds : folds, narrow ? 1 + next : 2 + 2 * next);
}

int recode_columns(struct mst_writer *w)
{
	static const struct recode ordinals[] = { { { COLUMN_ORDINALS }, 1 },
						  { { COLUMN_ORDINALS_BY_TOKEN }, 1 },
						  { { COLUMN_ORDINALS_IN_A_ROW }, 1 } };
	static const struct recode times[] = { { { COLUMN_TIME }, 1 },
					       { { COLUMN_SKIPS, COLUMN_DELTAS }, 2 } };
	int err = 0;

	/* What is compared with it would be as incomplete, and smaller. */
	if (w->columns[COLUMN_RECORDS].failed || w->columns[COLUMN_TIME].failed ||
	    w->columns[COLUMN_ORDINALS].failed)
		return MST_ERR_NOMEM;
	if (w->chunk.n_records)
		recode_records(w);
	if (w->columns[COLUMN_TIME].size) {
		recode_times(w);
		keep_smallest(w, times, sizeof(times) / sizeof(*times));
	}
	if (w->columns[COLUMN_ORDINALS].size && !(err = recode_ordinals(w)))
		keep_smallest(w, ordinals, sizeof(ordinals) / sizeof(*ordinals));
	return err;
}

/* ---- definitions ---- */

/* How many frames out of the stack before it a stack's parent is. False: it is none of the nearest. */
static bool count_out(const struct mst_stack *stacks, uint32_t id, uint32_t *out)
{
	const uint32_t parent = stacks[id].parent;
	uint32_t at = id - 1;

	for (*out = 0; at != parent && at != 0 && *out < STACKS_OUT_MAX; ++*out)
		at = stacks[at].parent;
	return at == parent;
}

void recode_stacks(struct mst_writer *w, uint32_t first)
{
	static const struct recode folds[] = { { { COLUMN_PARENTS }, 1 }, { { COLUMN_PARENTS_OUT }, 1 } };
	const struct mst_stack *stacks = w->defs.stacks.items;
	struct bytes *to = &w->columns[COLUMN_PARENTS_OUT];
	uint32_t out;

	for (uint32_t i = first; i < w->defs.stacks.n; i++) {
		if (count_out(stacks, i, &out))
			bytes_varint(to, (uint64_t)out << 1);
		else
			bytes_varint(to, (uint64_t)(i - 1 - stacks[i].parent) << 1 | 1);
	}
	keep_smallest(w, folds, sizeof(folds) / sizeof(*folds));
}

void recode_kinds(struct mst_writer *w, uint32_t first)
{
	static const struct recode folds[] = { { { COLUMN_KIND_STACKS }, 1 }, { { COLUMN_KIND_ENDS }, 1 } };
	const struct mst_stack *stacks = w->defs.stacks.items;
	const struct mst_kind *kinds = defs_kinds(&w->defs);
	struct bytes *to = &w->columns[COLUMN_KIND_ENDS];
	uint32_t end = 0, last = 0;

	for (uint32_t i = first; i < w->defs.kinds.n; i++) {
		const uint32_t stack = kinds[i].stack;

		if (end <= w->highest_stack)
			end = recode_end(stacks, w->defs.stacks.n, w->highest_stack + 1);
		bytes_varint(to, stack == end ? 0 : wire_zigzag((int64_t)stack - (int64_t)last) + 1);
		w->highest_stack = stack > w->highest_stack ? stack : w->highest_stack;
		last = stack;
	}
	keep_smallest(w, folds, sizeof(folds) / sizeof(*folds));
}
