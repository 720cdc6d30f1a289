/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include <assert.h>

#include "progress.h"

/* Whether no observer needs the records. Without observers all chunks are decoded, which proves them sound. */
static bool ask_all(struct mst_reader *reader, const struct mst_chunk *chunk, struct observer **observers,
		    size_t n)
{
	bool suffice = n > 0;
	for (size_t i = 0; i < n; i++) {
		struct observer *o = observers[i];
		o->by_sums = o->impl->sums_suffice && o->impl->sums_suffice(o, reader, chunk);
		suffice &= o->by_sums;
	}
	return suffice;
}

static int show_chunk(struct mst_reader *reader, const struct mst_chunk *chunk, struct observer **observers,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct observer *o = observers[i];
		int error = 0;
		assert(o->by_sums || chunk->records || chunk->n_records == 0);
		if (o->by_sums && o->impl->sums)
			error = o->impl->sums(o, reader, chunk);
		else if (chunk->records)
			error = o->impl->chunk(o, reader, chunk);
		if (error)
			return error;
	}
	return 0;
}

static int show_end(struct mst_reader *reader, struct observer **observers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct observer_impl *impl = observers[i]->impl;
		int error = impl->end ? impl->end(observers[i], reader) : 0;
		if (error)
			return error;
	}
	return 0;
}

/* Lets the reader leave out columns that no observer reads. */
static void want_columns(struct mst_reader *reader, struct observer **observers, size_t n)
{
	unsigned spared = n ? MST_ALL_COLUMNS : 0, by_threads = 0;
	for (size_t i = 0; i < n; i++) {
		spared &= observers[i]->spared;
		by_threads |= observers[i]->by_threads;
	}
	mst_reader_want(reader, MST_ALL_COLUMNS & ~spared);
	mst_reader_want_by_threads(reader, by_threads);
}

static bool all_satisfied(struct observer **observers, size_t n)
{
	bool satisfied = n > 0;
	for (size_t i = 0; i < n && satisfied; i++)
		satisfied = observers[i]->impl->satisfied && observers[i]->impl->satisfied(observers[i]);
	return satisfied;
}

int replay_run(struct mst_reader *reader, struct observer **observers, size_t n, struct progress *progress)
{
	const struct mst_chunk *chunk;
	int status = 0, error;
	bool whole;
	for (size_t i = 0; i < n; i++)
		assert(observers[i]->impl->chunk &&
		       (!observers[i]->impl->sums || observers[i]->impl->sums_suffice));
	while (!all_satisfied(observers, n)) {
		want_columns(reader, observers, n);
		if ((status = mst_reader_peek(reader, &chunk)) <= 0)
			break;
		whole = !ask_all(reader, chunk, observers, n);
		if (whole && (status = mst_reader_decode(reader)) < 0)
			break;
		error = show_chunk(reader, chunk, observers, n);
		if (error)
			return error;
		if (progress)
			progress_add(progress, chunk->sums.events + chunk->sums.null_frees, whole);
		status = 0;
	}
	if (status == MST_ERR_NOMEM)
		return status;
	error = show_end(reader, observers, n);
	if (error)
		return error;
	return status == MST_ERR_TRUNCATED ? REPLAY_CUT : status < 0 ? REPLAY_PARTIAL : REPLAY_COMPLETE;
}

const char *replay_problem(const struct mst_reader *reader)
{
	const char *problem = mst_reader_problem(reader);
	return *problem ? problem : "cannot read on";
}
