/* SPDX-License-Identifier: MIT */
#include "recode.h"

#include <assert.h>
#include <stdlib.h>

#include "ordinals.h"
#include "wire.h"
#include "writer.h"

/* The level at which encodings are compared: 19 takes three times as long in all, for 0.3 % of the bytes. */
#define TRIED_LEVEL 12

/*
 * The plain column once more, with the difference of each record's age to that of the record before it. `ages`: the
 * last one by token, 1 each. False: the plain column is damaged.
 */
static bool put_in_a_row(const struct chunk *chunk, const struct bytes *plain, uint64_t *ages,
			 struct bytes *to)
{
	const uint8_t *at = plain->data, *end = plain->data + plain->size;
	uint64_t last = 1, difference;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const uint16_t number = chunk->records[i];
		uint64_t age;

		if (!ordinals_has_entry(chunk->tokens[number].role))
			continue;
		at = wire_varint(at, end, &difference);
		if (!at)
			return false;
		age = ages[number] + (uint64_t)wire_unzigzag(difference);
		bytes_varint(to, wire_zigzag((int64_t)(age - last)));
		if (age)
			ages[number] = last = age;
	}
	return true;
}

/* SIZE_MAX: the column cannot be written. */
static size_t stored_size(struct mst_writer *w, const struct bytes *column)
{
	const size_t bound = ZSTD_compressBound(column->size);
	uint8_t *to;
	size_t size;

	bytes_clear(&w->output.unit);
	to = bytes_reserve(&w->output.unit, bound);
	size = to && !column->failed ? ZSTD_compress2(w->zstd, to, bound, column->data, column->size)
				     : SIZE_MAX;
	return ZSTD_isError(size) ? SIZE_MAX : size;
}

int recode_ordinals(struct mst_writer *w)
{
	struct bytes *const plain = &w->columns[COLUMN_ORDINALS];
	struct bytes *const in_a_row = &w->columns[COLUMN_ORDINALS_IN_A_ROW];
	uint64_t *const ages = malloc((w->chunk.n_tokens + 1) * sizeof(*ages));
	bool sound;

	if (!ages || plain->failed) {
		free(ages);
		return MST_ERR_NOMEM;
	}
	for (uint32_t i = 0; i < w->chunk.n_tokens; i++)
		ages[i] = 1;
	sound = put_in_a_row(&w->chunk, plain, ages, in_a_row);
	assert(sound);
	(void)sound;
	free(ages);
	writer_pack_at(w, TRIED_LEVEL);
	bytes_clear(stored_size(w, in_a_row) < stored_size(w, plain) ? plain : in_a_row);
	writer_pack_at(w, w->level);
	return 0;
}
