/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <stddef.h>

#include "reader.h"
#include "wire.h"

const uint8_t *step_take(const uint8_t *p, const uint8_t *end, struct step *step)
{
	uint64_t v;

	*step = (struct step){ 0 };
	p = wire_varint(p, end, &v);
	if (!p || v == 0)
		return p;
	step->grown = v >> 3;
	if (!(v & 4))
		step->grown *= 8;
	if (step->grown == 0)
		return NULL;
	if (v & 2)
		step->grown = -step->grown;
	return v & 1 ? wire_varint(p, end, &step->passed) : p;
}

bool steps_are_whole(const uint8_t *p, size_t size)
{
	const uint8_t *const end = p + size;
	struct step step;

	while (p && p < end) {
		p = step_take(p, end, &step);
		if (!step.grown)
			return false;
	}
	return p != NULL;
}

/* How many records the call that begins with this one has. */
static uint32_t records_of_call(const struct mst_chunk *chunk, uint32_t record)
{
	const uint32_t role = chunk->symbols[chunk->records[record]].role;

	return role == MST_OUT || role == MST_KEEP ? 2 : 1;
}

/* Instructions never go back, nor are there more calls than in the chunk. */
static bool are_sound(struct mst_reader *r)
{
	const struct mst_chunk *chunk = &r->chunk;
	const uint8_t *p = chunk->steps, *const end = p + chunk->n_steps;
	struct step step;
	uint32_t record = 0;

	while (p < end) {
		p = step_take(p, end, &step);
		if (!p || step.passed > INT64_MAX - r->stepped ||
		    (!step.grown && (record >= chunk->n_records || chunk->instructions[record] < r->stepped)))
			return false;
		r->stepped += step.passed;
		if (!step.grown) {
			r->stepped = chunk->instructions[record];
			record += records_of_call(chunk, record);
		}
	}
	if (record < chunk->n_records && chunk->instructions[record] < r->stepped)
		return false;
	if (r->count > r->stepped)
		r->stepped = r->count;
	return true;
}

const char *steps_check(struct mst_reader *r)
{
	const struct column *column = &r->columns[COLUMN_STEPS];

	r->chunk.steps = column->data;
	r->chunk.n_steps = column->present && r->instructions ? column->size : 0;
	r->chunk.steps_from = r->stepped;
	return !r->instructions || are_sound(r) ? NULL : "the column of steps is malformed";
}

bool mst_step_next(struct mst_step_cursor *c, struct mst_step *step)
{
	const struct mst_chunk *chunk = c->chunk;
	const uint8_t *p = chunk->steps + c->at, *const end = chunk->steps + chunk->n_steps;
	struct step taken = { 0 };

	while (p < end) {
		p = step_take(p, end, &taken);
		if (taken.grown)
			break;
		c->instructions = chunk->instructions ? chunk->instructions[c->record] : 0;
		c->record += records_of_call(chunk, c->record);
	}
	c->at = (size_t)(p - chunk->steps);
	c->instructions += taken.passed;
	*step = (struct mst_step){ c->record, c->instructions, taken.grown };
	return taken.grown != 0;
}
