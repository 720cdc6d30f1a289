/* SPDX-License-Identifier: MIT */
/*
 * What Massif tells of its work: with -v -v each snapshot, each cull and the functions it strips or
 * ignores; with --stats=yes how many of what there were. The words are those of Massif 3.19.
 */
#ifndef ANALYZE_EVENT_LOG_H
#define ANALYZE_EVENT_LOG_H

#include <stdio.h>

#include "massif.h"

/* What is being done; decides what a snapshot is called. */
enum event_log_call {
	EVENT_LOG_START,
	EVENT_LOG_ALLOC,
	EVENT_LOG_FREE,
	EVENT_LOG_REALLOC,
	EVENT_LOG_STACK_NEW,
	EVENT_LOG_STACK_DIES,
};

struct event_log {
	FILE *file;
	uint32_t pid; /* of the recorded process, for the lines' beginnings */
	bool lines;   /* tell each step */

	/* Private. */
	bool trees; /* detailed snapshots have them */
	enum event_log_call call;
	unsigned skipped; /* moments since the last snapshot at which one was due too soon */
	uint64_t calls[EVENT_LOG_STACK_DIES + 1], ignored[EVENT_LOG_STACK_DIES + 1];
	uint64_t all_skipped, snapshots, detailed, peaks, cullings;
};

/* The lists at the start. */
void event_log_begin(struct event_log *log, const struct settings *settings);

/* A call is about to happen: for the figures it counts, is ignored, or both (a realloc may). */
void event_log_call(struct event_log *log, enum event_log_call call, bool counted, bool ignored);

/* A normal snapshot was passed over, or one is stored in the place `at`. */
void event_log_skip(struct event_log *log);
void event_log_store(struct event_log *log, const struct snapshot *snapshot, size_t at);

/* The steps of a cull, in this order. Places are those before it for what is taken out, else after it. */
void event_log_cull(struct event_log *log);
void event_log_take_out(struct event_log *log, unsigned n, uint64_t span, const struct snapshot *snapshot,
			size_t at);
void event_log_pass_over(struct event_log *log, size_t at);
void event_log_culled(struct event_log *log, const struct snapshot *left, size_t n_left, unsigned taken_out,
		      uint64_t interval, size_t at);

/* The figures at the end. */
void event_log_stats(const struct event_log *log);

#endif
