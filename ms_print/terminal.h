/* SPDX-License-Identifier: MIT */
/* A stream in front of a terminal that lets nothing through which the terminal would obey. */
#ifndef MS_PRINT_TERMINAL_H
#define MS_PRINT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * `to` itself if it leads elsewhere, where every byte is wanted as it is; else a stream to be ended by
 * terminal_close(). NULL: no memory.
 */
FILE *terminal_open(FILE *to);

/* Flushes; false if anything could not be written. */
bool terminal_close(FILE *stream, FILE *to);

#endif
