/* SPDX-License-Identifier: MIT */
/* The column of instruction counts of an EVENTS unit. Private. */
#ifndef MSTRACE_COUNTS_H
#define MSTRACE_COUNTS_H

#include "column.h"
#include "decode.h"

/*
 * Reads the counts of a chunk whose records have been read into d->arrays.instructions, one a record. The array has
 * room for them. NULL, or what is wrong.
 */
const char *counts_take(struct decode *d, struct cursor column);

#endif
