/* SPDX-License-Identifier: MIT */
/*
 * Massif's log: with -v -v each snapshot, each cull and the functions that are stripped or ignored; with --stats=yes
 * how many of what there were. The words are those of Massif 3.19.
 */
#ifndef ANALYZE_EVENT_LOG_H
#define ANALYZE_EVENT_LOG_H

#include <stdio.h>

#include "massif.h"

/* The present call; decides what a snapshot is called. */
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
	uint32_t pid; /* of the recorded process; begins each line */
	bool lines;   /* write each step; else only the figures */

	/* Private. */
	bool trees; /* detailed snapshots have them */
	enum event_log_call call;
	unsigned skipped; /* calls since the last snapshot for which a snapshot was not due yet */
	uint64_t calls[EVENT_LOG_STACK_DIES + 1], ignored[EVENT_LOG_STACK_DIES + 1];
	uint64_t all_skipped, snapshots, detailed, peaks, cullings;
};

/* The lists of functions. */
void event_log_begin(struct event_log *log, const struct settings *settings);

/* Before a call. In the figures it counts, is ignored, or both (a realloc may be both). */
void event_log_call(struct event_log *log, enum event_log_call call, bool counted, bool ignored);

/* A normal snapshot was not due yet; a snapshot is stored as number `at`. */
void event_log_skip(struct event_log *log);
void event_log_store(struct event_log *log, const struct snapshot *snapshot, size_t at);

/* The steps of a cull, in this order. Numbers are those before the cull in take_out, else those after it. */
void event_log_cull(struct event_log *log);
void event_log_take_out(struct event_log *log, unsigned n, uint64_t span, const struct snapshot *snapshot,
			size_t at);
void event_log_pass_over(struct event_log *log, size_t at);
void event_log_culled(struct event_log *log, const struct snapshot *left, size_t n_left, unsigned taken_out,
		      uint64_t interval, size_t at);

/* The figures at the end. */
void event_log_stats(const struct event_log *log);

#endif
