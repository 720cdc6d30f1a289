/* SPDX-License-Identifier: MIT */
/* What a recording lacks, known after the replay. */
#ifndef ANALYZE_RECORDING_GAPS_H
#define ANALYZE_RECORDING_GAPS_H

#include "mstrace.h"

/* It was switched off for some time. */
bool recording_was_off(const struct mst_reader *reader);

/* It was begun in a process that ran. */
bool recording_began_late(const struct mst_reader *reader);

/* The latter, with the blocks that were there. */
bool recording_has_earlier_blocks(const struct mst_reader *reader);

/* It has pages, and no block came or went: as of the exact engine with --pages. */
bool recording_has_only_pages(const struct mst_reader *reader);

#endif
