/* SPDX-License-Identifier: MIT */
#include "stack_depth.h"

#include <assert.h>
#include <stdlib.h>

struct stack_depth {
	struct observer observer;
	uint64_t *threads; /* by thread: its stack's depth in bytes */
	uint32_t n_threads;
	struct sp_change *changes; /* of the present chunk, from its markers */
	size_t n_changes, capacity;
	const struct mst_chunk *chunk; /* the present chunk, if SP changes were recorded; else NULL */
};

/* How many markers the chunk has. */
static uint32_t count_markers(const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];

		if (token->role == MST_CALL && kinds[token->kind].op == MST_OP_STACK)
			n += token->count;
	}
	return n;
}

static bool reserve(struct stack_depth *d, uint32_t n_threads, size_t n_changes)
{
	if (n_threads > d->n_threads) {
		uint64_t *threads = realloc(d->threads, n_threads * sizeof(*threads));

		if (!threads)
			return false;
		d->threads = threads;
		while (d->n_threads < n_threads)
			threads[d->n_threads++] = 0;
	}
	if (n_changes > d->capacity) {
		struct sp_change *changes = realloc(d->changes, n_changes * sizeof(*changes));

		if (!changes)
			return false;
		d->changes = changes;
		d->capacity = n_changes;
	}
	return true;
}

static void add_marker(struct stack_depth *d, const struct mst_chunk *chunk, uint32_t record, uint32_t thread,
		       uint64_t depth)
{
	const uint64_t grown = depth - d->threads[thread];

	d->threads[thread] = depth;
	assert(thread < d->n_threads && d->n_changes < d->capacity);
	if (grown)
		d->changes[d->n_changes++] = (struct sp_change){
			.record = record,
			.instructions = chunk->instructions ? chunk->instructions[record] : 0,
			.grown = grown,
		};
}

static int stack_depth_chunk(struct observer *observer, const struct mst_reader *reader,
			     const struct mst_chunk *chunk)
{
	struct stack_depth *d = (struct stack_depth *)observer;
	uint32_t n_threads, n_kinds, run = 0;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	uint32_t markers = count_markers(chunk, kinds);

	mst_reader_threads(reader, &n_threads);
	d->n_changes = 0;
	d->chunk = chunk->sp_changes_size ? chunk : NULL;
	if (!reserve(d, n_threads, markers))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; markers && i < chunk->n_records; i++) {
		const struct mst_token *token = &chunk->tokens[chunk->records[i]];

		while (run + 1 < chunk->n_runs && chunk->runs[run + 1].record <= i)
			run++;
		if (token->role != MST_CALL || kinds[token->kind].op != MST_OP_STACK)
			continue;
		markers--;
		add_marker(d, chunk, i, chunk->runs[run].thread, kinds[token->kind].size);
	}
	return 0;
}

struct stack_depth *stack_depth_create(void)
{
	static const struct observer_impl impl = { .chunk = stack_depth_chunk };
	struct stack_depth *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->observer.impl = &impl;
	d->observer.spared = MST_ALL_COLUMNS & ~(MST_THREADS | MST_INSTRUCTIONS | MST_SP_CHANGES);
	return d;
}

void stack_depth_destroy(struct stack_depth *d)
{
	if (!d)
		return;
	free(d->threads);
	free(d->changes);
	free(d);
}

struct observer *stack_depth_observer(struct stack_depth *d)
{
	return &d->observer;
}

/* The next SP change, where each was recorded. */
static bool next_change(const struct mst_chunk *chunk, struct sp_cursor *cursor, struct sp_change *change)
{
	struct mst_sp_change recorded;

	if (!cursor->changes.chunk)
		cursor->changes = MST_SP_CURSOR(chunk);
	if (!mst_sp_next(&cursor->changes, &recorded))
		return false;
	*change = (struct sp_change){
		.record = recorded.record,
		.instructions = recorded.instructions,
		.grown = recorded.grown,
	};
	return true;
}

bool stack_depth_next(const struct stack_depth *d, struct sp_cursor *cursor, struct sp_change *change)
{
	if (d->chunk)
		return next_change(d->chunk, cursor, change);
	if (cursor->next >= d->n_changes)
		return false;
	*change = d->changes[cursor->next++];
	return true;
}
