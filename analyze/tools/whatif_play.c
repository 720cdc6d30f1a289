/* SPDX-License-Identifier: MIT */
#include "whatif_play.h"

#include <unistd.h>

#include "progress.h"
#include "replay.h"

int whatif_replay(const struct whatif_job *job, struct observer *observer)
{
	struct observer *observers[] = { observer };
	struct mst_reader *reader;
	struct progress progress;
	if (lseek(job->trace->fd, (off_t)job->trace->start, SEEK_SET) < 0)
		return MST_ERR_IO;
	int result = mst_reader_create(&reader, job->trace->fd);
	if (result < 0)
		return result;
	progress_begin(&progress, job->tool->name, job->trace->fd, job->tool->verbosity < 0);
	result = mst_reader_parallel(reader, tool_jobs(job->tool));
	if (result == 0)
		result = replay_run(reader, observers, 1, &progress);
	progress_end(&progress);
	mst_reader_destroy(reader);
	return result < 0 ? result : 0;
}

int whatif_stream(const struct whatif_job *job, struct op_stream *stream)
{
	stream->pace = job->command->pace;
	stream->ends.at_once = job->command->end_threads;
	return whatif_replay(job, &stream->observer);
}

bool whatif_any_runs(const struct players *players)
{
	for (size_t i = 0; i < players->n; i++) {
		if (players->items[i].end == PLAYER_RUNS)
			return true;
	}
	return false;
}

struct player_setup whatif_setup(const struct setup *setup, bool shadow)
{
	return (struct player_setup){
		.preload = setup->library,
		.variables = (const char *const *)setup->variables,
		.n_variables = setup->n_variables,
		.trim_ns = setup->trim_ns,
		.shadow = shadow,
	};
}
