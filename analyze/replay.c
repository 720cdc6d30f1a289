/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include "term.h"

static int show_chunk(struct mst_reader *reader, const struct mst_chunk *chunk, struct observer **observers,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int error = observers[i]->impl->chunk(observers[i], reader, chunk);
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

int replay_run(struct mst_reader *reader, struct observer **observers, size_t n, struct progress *progress)
{
	const struct mst_chunk *chunk;
	int status;
	while ((status = mst_reader_next(reader, &chunk)) > 0) {
		int error = show_chunk(reader, chunk, observers, n);
		if (error)
			return error;
		if (progress)
			progress_add(progress, chunk->sums.events + chunk->sums.null_frees);
	}
	if (status == MST_ERR_NOMEM)
		return status;
	int error = show_end(reader, observers, n);
	if (error)
		return error;
	return status < 0 ? REPLAY_PARTIAL : REPLAY_COMPLETE;
}

const char *replay_problem(const struct mst_reader *reader)
{
	const char *problem = mst_reader_problem(reader);
	return *problem ? problem : "cannot read on";
}
