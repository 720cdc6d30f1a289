/* SPDX-License-Identifier: MIT */
/* A whole file in memory; works for pipes as well. */
#ifndef MS_PRINT_INPUT_H
#define MS_PRINT_INPUT_H

#include "span.h"

/*
 * Reads the file to its end; returns 0 or a negative errno. The text is malloc'ed and belongs to the caller. A NUL
 * byte follows it, which the length does not include.
 */
int input_read(const char *path, char **text, size_t *size);

/* True for the beginning of a trace as msrec writes it (trace-format/FORMAT.md). */
bool input_is_trace(const char *text, size_t size);

#endif
