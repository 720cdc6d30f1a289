/* SPDX-License-Identifier: MIT */
/* A stream in front of a terminal that makes control characters harmless. */
#ifndef MS_PRINT_TERMINAL_H
#define MS_PRINT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * `to` itself if it leads elsewhere, where every byte must stay as it is; else a stream that terminal_close() ends.
 * NULL: no memory.
 */
FILE *terminal_open(FILE *to);

/* Flushes; false if a write failed. */
bool terminal_close(FILE *stream, FILE *to);

#endif
