/* SPDX-License-Identifier: MIT */
/*
 * The column of instruction counts of an EVENTS unit. Private.
 */
#ifndef MSTRACE_COUNTS_H
#define MSTRACE_COUNTS_H

#include "column.h"
#include "decode.h"

/*
 * The counts of the chunk whose records have been read, one a record, into d->instructions, which has
 * room for them. NULL, or what is wrong.
 */
const char *counts_take(struct decode *d, struct cursor column);

#endif
