/* SPDX-License-Identifier: MIT */
/* Walks the events of a decoded chunk. */
#include <assert.h>

#include "mstrace.h"

#define UNKNOWN_BLOCK UINT64_MAX

static uint64_t take_freed(struct mst_cursor *c)
{
	return c->freed < c->chunk->n_freed ? c->chunk->freed[c->freed++] : UNKNOWN_BLOCK;
}

/* 0 if addresses were not wanted. */
static uint64_t take_address(struct mst_cursor *c)
{
	return c->addresses < c->chunk->n_addresses ? c->chunk->addresses[c->addresses++] : 0;
}

/* Takes the record after an OUT or KEEP. Decoding has checked that there is one. */
static void second_half(struct mst_cursor *c, const struct mst_token *first, struct mst_event *e)
{
	const struct mst_token *second = &c->chunk->tokens[c->chunk->records[c->record++]];

	assert(c->record <= c->chunk->n_records);
	assert(second->role == MST_CALL || (second->role == MST_ALLOC && first->role == MST_OUT));
	e->old_kind = first->kind;
	e->old_index = take_freed(c);
	e->kind = second->kind;
	if (second->paged)
		e->address = take_address(c);
	if (second->role == MST_ALLOC) {
		e->type = MST_EVENT_RESIZE;
		e->index = c->alloc++;
	} else {
		e->type = first->role == MST_OUT ? MST_EVENT_FREE : MST_EVENT_CALL;
	}
}

bool mst_cursor_next(struct mst_cursor *c, struct mst_event *e)
{
	const struct mst_chunk *chunk = c->chunk;
	const struct mst_token *token;

	if (c->record >= chunk->n_records)
		return false;
	assert(chunk->records && chunk->records[c->record] < chunk->n_tokens);
	while (c->stamp + 1 < chunk->n_stamps && chunk->stamps[c->stamp + 1].record <= c->record)
		c->stamp++;
	while (c->run + 1 < chunk->n_runs && chunk->runs[c->run + 1].record <= c->record)
		c->run++;
	token = &chunk->tokens[chunk->records[c->record++]];
	*e = (struct mst_event){
		.kind = MST_NONE,
		.old_kind = MST_NONE,
		.thread = chunk->runs ? chunk->runs[c->run].thread : 0,
		.time = chunk->stamps ? chunk->stamps[c->stamp].time : chunk->first_time,
		.instructions = chunk->instructions ? chunk->instructions[c->record - 1] : 0,
		.index = UNKNOWN_BLOCK,
		.old_index = UNKNOWN_BLOCK,
	};
	switch ((enum mst_role)token->role) {
	case MST_ALLOC:
		e->type = MST_EVENT_ALLOC;
		e->kind = token->kind;
		e->index = c->alloc++;
		break;
	case MST_FREE:
		e->type = MST_EVENT_FREE;
		e->old_kind = token->kind;
		e->old_index = take_freed(c);
		break;
	case MST_CALL:
		e->type = MST_EVENT_CALL;
		e->kind = token->kind;
		if (token->paged)
			e->address = take_address(c);
		break;
	case MST_OUT:
	case MST_KEEP:
		second_half(c, token, e);
		break;
	}
	return true;
}
