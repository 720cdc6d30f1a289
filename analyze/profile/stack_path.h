/* SPDX-License-Identifier: MIT */
/* A stack as one text, outermost function first: "main;f;g", as flamegraph.pl reads it. */
#ifndef ANALYZE_STACK_PATH_H
#define ANALYZE_STACK_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise; the owner frees `text`. */
struct stack_path {
	char *text; /* [n], without a NUL at its end */
	size_t n, room;
};

/* Appends a function's name; semicolons in it become colons, line ends blanks. False: no memory. */
bool stack_path_append(struct stack_path *path, const char *function);

/* The text with a NUL at its end; NULL: no memory. */
const char *stack_path_text(struct stack_path *path);

#endif
