/* SPDX-License-Identifier: MIT */
/* What all passes of mswhatif share. */
#ifndef ANALYZE_WHATIF_PLAY_H
#define ANALYZE_WHATIF_PLAY_H

#include "pools.h"
#include "runs.h"
#include "whatif_options.h"

/* One run of the command. */
struct whatif_job {
	const struct whatif_command *command;
	const struct tool *tool;
	const struct tool_trace *trace;
	struct at at; /* the command's, its mark found */
	struct outline outline;
	struct symbolizer *symbolizer;
	struct call_sites *calls;
	struct thread_vectors vectors;
	struct setups setups;
	struct runs runs;
	struct life_classes lives;
	struct pools pools;
	struct players_plan plan;
	char *program; /* of plan */
};

/* Reads the trace again, with a reader of its own; what is damaged is known already. 0, or an enum mst_error. */
int whatif_replay(const struct whatif_job *job, struct observer *observer);

/* The same for a stream. */
int whatif_stream(const struct whatif_job *job, struct op_stream *stream);

bool whatif_any_runs(const struct players *players);

/* The setup must outlive the result. */
struct player_setup whatif_setup(const struct setup *setup, bool shadow);

#endif
