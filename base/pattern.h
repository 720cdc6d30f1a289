/* SPDX-License-Identifier: MIT */
/* Names of files from patterns, as Valgrind has them: %p, %q{VAR}, %n, %%; and %e. */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

/* What the specifiers stand for. */
struct pattern_values {
	uint32_t pid;        /* %p */
	const char *program; /* %e, as printable text, cut at 128 bytes; NULL: %e is an error */
	uint32_t number;     /* %n; with `counts` the number before it */
	bool counts;         /* each %n adds one to `number` first */
	bool has_pid;        /* out: the pattern has a %p */
};

struct pattern_error {
	enum {
		PATTERN_NO_MEMORY,
		PATTERN_UNKNOWN,  /* an unknown letter, or nothing, after % */
		PATTERN_NO_BRACE, /* no { after %q */
		PATTERN_NO_END,   /* no } after %q{ */
		PATTERN_UNSET,    /* the environment has no such variable */
	} problem;
	const char *variable; /* PATTERN_UNSET: its name, in the pattern */
	int length;           /* of `variable` */
};

/* Returns the name, to be freed. NULL: *error is set. */
char *pattern_expand(const char *pattern, struct pattern_values *values, struct pattern_error *error);

#endif
