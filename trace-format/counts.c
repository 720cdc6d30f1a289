/* SPDX-License-Identifier: MIT */
#include "counts.h"

#include "reader.h"
#include "wire.h"

/* Whether the record is the second half of a call. */
static bool is_second(const struct mst_reader *r, uint32_t record)
{
	const uint32_t before = record ? r->symbols[r->records[record - 1]].role : MST_ALLOC;

	return before == MST_OUT || before == MST_KEEP;
}

const char *counts_take(struct mst_reader *r)
{
	const struct column *column = &r->columns[COLUMN_INSTRUCTIONS];
	const uint8_t *p = column->present ? column->data : NULL, *end = p ? p + column->size : NULL;
	uint64_t count, last, delta;

	if (r->header.fields_size < FIELDS_EVENTS_COUNTED)
		return "an EVENTS unit lacks fields";
	count = wire_u64(r->header.fields + FIELDS_EVENTS);
	last = wire_u64(r->header.fields + FIELDS_EVENTS + 8);
	if (count < r->count || last < count || last > INT64_MAX)
		return "the count of instructions goes back";
	for (uint32_t i = 0; i < r->chunk.n_records; i++) {
		if (!is_second(r, i)) {
			p = p ? wire_varint(p, end, &delta) : NULL;
			if (!p || delta > last - count)
				return "the instruction column is malformed";
			count += delta;
		}
		r->instructions[i] = count;
	}
	if (count != last)
		return "the instruction column is malformed";
	r->count = count;
	return NULL;
}
