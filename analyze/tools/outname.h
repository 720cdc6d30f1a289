/* SPDX-License-Identifier: MIT */
/*
 * The name of an output file from a pattern, by Massif's rules: %p, %q{VAR}, %n, %%.
 */
#ifndef ANALYZE_OUTNAME_H
#define ANALYZE_OUTNAME_H

#include <stdint.h>

/* What the letters stand for. */
struct outname {
	uint32_t pid;      /* %p: id of the recorded process, not of this one */
	unsigned sequence; /* %n: numbers given so far; the next one is sequence + 1 */
};

/*
 * Returns the name, for the caller to free. NULL: *why is an explanation for people, in Massif's
 * words, perhaps of several lines, also for the caller to free; it is NULL when out of memory.
 */
char *outname_expand(struct outname *outname, const char *pattern, char **why);

#endif
