/* SPDX-License-Identifier: MIT */
/* Stacks of which the recorder kept the innermost frames only (msrec --depth), see mst_frame_cut(). */
#ifndef ANALYZE_CUT_STACKS_H
#define ANALYZE_CUT_STACKS_H

#include "mstrace.h"

/*
 * After the replay: how many different stacks of calls were cut; *frames is the number of frames at which, of the
 * first one. 0 also without memory.
 */
uint32_t cut_stacks_count(const struct mst_reader *reader, uint32_t *frames);

#endif
