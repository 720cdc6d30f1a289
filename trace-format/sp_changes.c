/* SPDX-License-Identifier: MIT */
#include "sp_changes.h"

#include <stddef.h>

#include "wire.h"
#include "writer.h"

struct packed_change {
	uint64_t grown;  /* bytes; negative as an int64_t: the stack shrank; 0: no change, but a call comes */
	uint64_t passed; /* instructions since the change or call before */
};

/* Takes a change, or the 0 of a call, from the bytes at `p`: the byte behind it, or NULL if it is malformed. */
static const uint8_t *sp_change_take(const uint8_t *p, const uint8_t *end, struct packed_change *change)
{
	uint64_t v;

	*change = (struct packed_change){ 0 };
	p = wire_varint(p, end, &v);
	if (!p || v == 0)
		return p;
	change->grown = v >> 3;
	if (!(v & 4))
		change->grown *= 8;
	if (change->grown == 0)
		return NULL;
	if (v & 2)
		change->grown = -change->grown;
	return v & 1 ? wire_varint(p, end, &change->passed) : p;
}

bool sp_changes_are_whole(const uint8_t *p, size_t size)
{
	const uint8_t *const end = p + size;
	struct packed_change change;

	while (p && p < end) {
		p = sp_change_take(p, end, &change);
		if (!change.grown)
			return false;
	}
	return p != NULL;
}

int mst_writer_sp_change(struct mst_writer *w, uint64_t grown, uint64_t instructions)
{
	const uint64_t last =
		w->now.sp_changed > w->chunk.counts.last ? w->now.sp_changed : w->chunk.counts.last;
	const bool shrank = (int64_t)grown < 0;
	const uint64_t size = shrank ? -grown : grown;
	const uint64_t passed = instructions > last ? instructions - last : 0;
	uint8_t bytes[2 * WIRE_VARINT_MAX], *end = bytes;

	if (size % 8 && size >> 61)
		return MST_ERR_LIMIT;
	end = wire_put_varint(end, (size % 8 ? size << 3 | 4 : size) | (uint64_t)shrank << 1 | (passed != 0));
	if (passed)
		end = wire_put_varint(end, passed);
	w->now.sp_changed = last + passed;
	return mst_writer_sp_changes(w, bytes, (size_t)(end - bytes));
}

/* How many records the call has that begins with this one. */
static uint32_t records_of_call(const struct mst_chunk *chunk, uint32_t record)
{
	const uint32_t role = chunk->tokens[chunk->records[record]].role;

	return role == MST_OUT || role == MST_KEEP ? 2 : 1;
}

bool sp_changes_are_sound(struct mst_chunk *chunk, uint64_t *from)
{
	const uint8_t *p = chunk->sp_changes, *const end = p + chunk->sp_changes_size;
	uint64_t count = chunk->sp_changes_from = *from;
	struct packed_change change;
	uint32_t record = 0;

	while (p < end) {
		p = sp_change_take(p, end, &change);
		if (!p || change.passed > INT64_MAX - count ||
		    (!change.grown && (record >= chunk->n_records || chunk->instructions[record] < count)))
			return false;
		count += change.passed;
		if (!change.grown) {
			count = chunk->instructions[record];
			record += records_of_call(chunk, record);
		}
	}
	*from = count;
	return record >= chunk->n_records || chunk->instructions[record] >= count;
}

bool mst_sp_next(struct mst_sp_cursor *c, struct mst_sp_change *change)
{
	static const uint8_t none[1];
	const struct mst_chunk *chunk = c->chunk;
	const uint8_t *const begin = chunk->sp_changes ? chunk->sp_changes : none;
	const uint8_t *p = begin + c->at, *const end = begin + chunk->sp_changes_size;
	struct packed_change taken = { 0 };

	while (p < end) {
		p = sp_change_take(p, end, &taken);
		if (taken.grown)
			break;
		c->instructions = chunk->instructions ? chunk->instructions[c->record] : 0;
		c->record += records_of_call(chunk, c->record);
	}
	c->at = (size_t)(p - begin);
	c->instructions += taken.passed;
	*change = (struct mst_sp_change){ c->record, c->instructions, taken.grown };
	return taken.grown != 0;
}
