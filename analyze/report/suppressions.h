/* SPDX-License-Identifier: MIT */
/*
 * Leaks that are known and not to be shown: LeakSanitizer's format, and built-in ones (suppressed_leaks.h). A line
 * "leak:PATTERN" hides the stacks with a function, source file or module that contains PATTERN; in it * stands for any
 * text, ^ at the beginning and $ at the end anchor it. Lines that are empty or begin with # say nothing.
 */
#ifndef ANALYZE_SUPPRESSIONS_H
#define ANALYZE_SUPPRESSIONS_H

#include "call_sites.h"
#include "mstrace.h"

struct suppression {
	char *pattern;          /* NULL: the built-in ones, all together */
	uint64_t bytes, blocks; /* that it hid */
};

/* Zero-initialised has none. */
struct suppressions {
	struct suppression *items;
	uint32_t n, room;
};

void suppressions_finish(struct suppressions *suppressions);

enum suppressions_result { SUPPRESSIONS_FINE, SUPPRESSIONS_NO_MEMORY, SUPPRESSIONS_MALFORMED };

/* Adds those of a file's text; *line is the number of a malformed line. */
enum suppressions_result suppressions_parse(struct suppressions *suppressions, const char *text,
					    uint32_t *line);

/* Adds the built-in ones. False: no memory. */
bool suppressions_add_built_in(struct suppressions *suppressions);

/* Whether the pattern of a line is in the text. */
bool suppressions_match(const char *pattern, const char *text);

/*
 * By stack, after the replay: the number of the first suppression that hides it, or MST_NONE; for the caller to free.
 * NULL: no memory.
 */
uint32_t *suppressions_of_stacks(const struct suppressions *suppressions, const struct mst_reader *reader,
				 struct call_sites *calls);

#endif
