/* SPDX-License-Identifier: MIT */
/*
 * The column of instruction counts of an EVENTS unit. Private.
 */
#ifndef MSTRACE_COUNTS_H
#define MSTRACE_COUNTS_H

struct mst_reader;

/*
 * The counts of the chunk whose records have been read, one a record, into reader->instructions, which has
 * room for them. NULL, or what is wrong.
 */
const char *counts_take(struct mst_reader *reader);

#endif
