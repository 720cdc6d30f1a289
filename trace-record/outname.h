/* SPDX-License-Identifier: MIT */
/* Names of trace files: the pattern of --output. */
#ifndef TRACE_RECORD_OUTNAME_H
#define TRACE_RECORD_OUTNAME_H

#include <stdbool.h>
#include <stdint.h>

struct outname_values {
	uint32_t pid;
	const char *program; /* its file name, for %e */
	uint32_t number;     /* for %n: counts the files of this run from 1 */
	bool forked;         /* a child: needs a name of its own */
};

/*
 * Expands %p (pid), %e (program), %n (number), %q{VAR} (environment) and %%. A forked child gets
 * ".<pid>" appended when the pattern has no %p. Returns a string to be freed, or NULL and *problem
 * (a constant).
 */
char *outname_expand(const char *pattern, const struct outname_values *values, const char **problem);

#endif
