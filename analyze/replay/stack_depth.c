/* SPDX-License-Identifier: MIT */
#include "stack_depth.h"

#include <stdlib.h>

struct depths {
	struct observer observer;
	uint64_t *threads; /* by thread: how deep its stack is */
	uint32_t n_threads;
	struct depth_step *steps; /* of the present chunk, by its marks */
	size_t n_steps, capacity;
	const struct mst_chunk *chunk; /* the present one, if it has steps of its own; else NULL */
};

/* By token of a chunk, whether it is a mark; and how many marks there are. */
static uint32_t find_marks(const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];

		if (token->role == MST_CALL && kinds[token->kind].op == MST_OP_STACK)
			n += token->count;
	}
	return n;
}

static bool reserve(struct depths *d, uint32_t n_threads, size_t n_steps)
{
	if (n_threads > d->n_threads) {
		uint64_t *threads = realloc(d->threads, n_threads * sizeof(*threads));

		if (!threads)
			return false;
		d->threads = threads;
		while (d->n_threads < n_threads)
			threads[d->n_threads++] = 0;
	}
	if (n_steps > d->capacity) {
		struct depth_step *steps = realloc(d->steps, n_steps * sizeof(*steps));

		if (!steps)
			return false;
		d->steps = steps;
		d->capacity = n_steps;
	}
	return true;
}

static void add_mark(struct depths *d, const struct mst_chunk *chunk, uint32_t record, uint32_t thread,
		     uint64_t depth)
{
	const uint64_t grown = depth - d->threads[thread];

	d->threads[thread] = depth;
	if (grown)
		d->steps[d->n_steps++] = (struct depth_step){
			.record = record,
			.instructions = chunk->instructions ? chunk->instructions[record] : 0,
			.grown = grown,
		};
}

static int depths_chunk(struct observer *observer, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	struct depths *d = (struct depths *)observer;
	uint32_t n_threads, n_kinds, run = 0;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	uint32_t marks = find_marks(chunk, kinds);

	mst_reader_threads(reader, &n_threads);
	d->n_steps = 0;
	d->chunk = chunk->sp_changes_size ? chunk : NULL;
	if (!reserve(d, n_threads, marks))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; marks && i < chunk->n_records; i++) {
		const struct mst_token *token = &chunk->tokens[chunk->records[i]];

		while (run + 1 < chunk->n_runs && chunk->runs[run + 1].record <= i)
			run++;
		if (token->role != MST_CALL || kinds[token->kind].op != MST_OP_STACK)
			continue;
		marks--;
		add_mark(d, chunk, i, chunk->runs[run].thread, kinds[token->kind].size);
	}
	return 0;
}

struct depths *depths_create(void)
{
	static const struct observer_impl impl = { .chunk = depths_chunk };
	struct depths *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->observer.impl = &impl;
	d->observer.spared = MST_TIMES | MST_IDENTITY | MST_ADDRESSES;
	return d;
}

void depths_destroy(struct depths *d)
{
	if (!d)
		return;
	free(d->threads);
	free(d->steps);
	free(d);
}

struct observer *depths_observer(struct depths *d)
{
	return &d->observer;
}

/* The next change of the stack pointer, where each of them was recorded. */
static bool next_change(const struct mst_chunk *chunk, struct depths_cursor *cursor, struct depth_step *step)
{
	struct mst_sp_change change;

	if (!cursor->changes.chunk)
		cursor->changes = MST_SP_CURSOR(chunk);
	if (!mst_sp_next(&cursor->changes, &change))
		return false;
	*step = (struct depth_step){
		.record = change.record,
		.instructions = change.instructions,
		.grown = change.grown,
	};
	return true;
}

bool depths_next(const struct depths *d, struct depths_cursor *cursor, struct depth_step *step)
{
	if (d->chunk)
		return next_change(d->chunk, cursor, step);
	if (cursor->next >= d->n_steps)
		return false;
	*step = d->steps[cursor->next++];
	return true;
}
