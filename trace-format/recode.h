/* SPDX-License-Identifier: MIT */
/* The alternative encoding of a chunk's ordinals (FORMAT.md), for traces that are written to be small. Private. */
#ifndef MSTRACE_RECODE_H
#define MSTRACE_RECODE_H

#include "mst_writer.h"

/*
 * Of the chunk's ordinals, whose columns are in w->columns, leaves the encoding that compresses better. The chunk's
 * tokens are counted. 0 or MST_ERR_NOMEM.
 */
int recode_ordinals(struct mst_writer *w);

#endif
