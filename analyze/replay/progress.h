/* SPDX-License-Identifier: MIT */
/*
 * Output for terminals only: colours, and a line of progress on standard error.
 */
#ifndef ANALYZE_PROGRESS_H
#define ANALYZE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum term_colour { TERM_COLOUR_AUTO, TERM_COLOUR_ALWAYS, TERM_COLOUR_NEVER };

/* "auto", "always", "never"; false if `text` is none of them. */
bool term_colour_parse(const char *text, enum term_colour *colour);

/* Whether to colour what goes to `fd`. AUTO: a terminal, no NO_COLOR, and TERM isn't "dumb". */
bool term_colour_wanted(enum term_colour colour, int fd);

/*
 * Progress is silent in the first second, if standard error isn't a terminal, or if `quiet`. Else the line is written at
 * most five times a second and erased at the end.
 */
struct progress {
	bool enabled, shown;
	const char *tool;
	int fd;       /* the input; its offset gives the percentage */
	int64_t size; /* of the input; 0: unknown */
	uint64_t events;
	uint64_t chunks, decoded; /* all, and those whose records were decoded */
	struct timespec start, last;
};

void progress_begin(struct progress *progress, const char *tool, int fd, bool quiet);
/* A chunk has been replayed. */
void progress_add(struct progress *progress, uint64_t events, bool decoded);
void progress_end(struct progress *progress);

/* Seconds since progress_begin(), also if silent. */
double progress_seconds(const struct progress *progress);

#endif
