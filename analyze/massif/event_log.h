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
enum chronicle_call {
	CHRONICLE_START,
	CHRONICLE_ALLOC,
	CHRONICLE_FREE,
	CHRONICLE_REALLOC,
	CHRONICLE_STACK_NEW,
	CHRONICLE_STACK_DIES,
};

struct chronicle {
	FILE *file;
	uint32_t pid; /* of the recorded process, for the lines' beginnings */
	bool lines;   /* tell each step */

	/* Private. */
	bool trees; /* detailed snapshots have them */
	enum chronicle_call call;
	unsigned skipped; /* moments since the last snapshot at which one was due too soon */
	uint64_t calls[CHRONICLE_STACK_DIES + 1], ignored[CHRONICLE_STACK_DIES + 1];
	uint64_t all_skipped, snapshots, detailed, peaks, cullings;
};

/* The lists at the start. */
void chronicle_begin(struct chronicle *chronicle, const struct settings *settings);

/* A call is about to happen: for the figures it counts, is ignored, or both (a realloc may). */
void chronicle_call(struct chronicle *chronicle, enum chronicle_call call, bool counted, bool ignored);

/* A normal snapshot was passed over, or one is stored in the place `at`. */
void chronicle_skip(struct chronicle *chronicle);
void chronicle_store(struct chronicle *chronicle, const struct snapshot *snapshot, size_t at);

/* The steps of a cull, in this order. Places are those before it for what is taken out, else after it. */
void chronicle_cull(struct chronicle *chronicle);
void chronicle_take_out(struct chronicle *chronicle, unsigned n, uint64_t span,
			const struct snapshot *snapshot, size_t at);
void chronicle_pass_over(struct chronicle *chronicle, size_t at);
void chronicle_culled(struct chronicle *chronicle, const struct snapshot *left, size_t n_left,
		      unsigned taken_out, uint64_t interval, size_t at);

/* The figures at the end. */
void chronicle_stats(const struct chronicle *chronicle);

#endif
