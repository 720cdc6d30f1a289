/* SPDX-License-Identifier: MIT */
/*
 * The text below the graph: the list of detailed snapshots, the table of all snapshots, and the allocation
 * trees between its rows. A tree's node is shown if it holds at least `threshold` percent of its snapshot's
 * total; one line sums up the other children.
 */
#ifndef MS_PRINT_LISTING_H
#define MS_PRINT_LISTING_H

#include "parse.h"

#include <stdio.h>

/* False if memory ran out; the output is then cut. Memory grows with the depth of a tree only. */
bool listing_print(FILE *out, const struct profile *profile, struct number threshold);

#endif
