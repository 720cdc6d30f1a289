/* SPDX-License-Identifier: MIT */
/*
 * A file of msreport --check: limits, and what recordings came to when it was last updated. It is text that people read
 * and merge; msreport(1) describes it. Comments belong to the line below them and survive an update.
 */
#ifndef ANALYZE_BASELINE_H
#define ANALYZE_BASELINE_H

#include "limit.h"

struct out;

/* What a line of a run says. */
struct baseline_line {
	char *comments; /* the lines above it; NULL: none */
	char *subject;  /* limit.subject; of a stack "peak", "end" or "calls" */
	char *path; /* of a stack: its functions from outside, with ; between them. NULL: a figure of all */
	uint64_t value;
	bool fresh; /* set by baseline_line_set() */
};

struct baseline_run {
	char *comments, *command;
	struct baseline_line *lines;
	size_t n, room;
	bool seen; /* the caller's */
};

/* Zero-initialised is empty. */
struct baseline {
	char **head; /* comments, empty lines and limits, as they are */
	size_t n_head, room_head;
	struct limit *limits;
	size_t n_limits, room_limits;
	struct baseline_run *runs;
	size_t n_runs, room_runs;
	char *tail; /* comments at the end */
};

struct baseline_error {
	size_t line;     /* 0: no memory */
	const char *why; /* a static text */
};

enum { BASELINE_MOST_BYTES = 1 << 24 };

/* Of a file's text. False: *error says why; baseline_finish() must still be called. */
bool baseline_parse(struct baseline *baseline, const char *text, struct baseline_error *error);
void baseline_finish(struct baseline *baseline);

/* Adds a limit, and its line. NULL, or why not. */
const char *baseline_add_limit(struct baseline *baseline, const char *text);

/* The run of a command, else the first whose own command, with * for any text, matches. NULL: it has no such run. */
struct baseline_run *baseline_find(const struct baseline *baseline, const char *command);
/* The same, added if need be. NULL: no memory. */
struct baseline_run *baseline_open(struct baseline *baseline, const char *command);

/* A run's figure; `path` of a stack or NULL. NULL: it has none. */
const struct baseline_line *baseline_line_find(const struct baseline_run *run, const char *subject,
					       const char *path);
/* Sets a figure; one that was set already is raised to `value` if that is more. False: no memory. */
bool baseline_line_set(struct baseline_run *run, const char *subject, const char *path, uint64_t value);
/* Removes lines that were not set, of runs that have others; their comments become the run's. False: no memory. */
bool baseline_sweep(struct baseline *baseline);

/* Runs by their commands, figures by name, then stacks by path. Errors are the output's. */
void baseline_write(struct baseline *baseline, struct out *out);

#endif
