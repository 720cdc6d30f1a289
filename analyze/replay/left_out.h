/* SPDX-License-Identifier: MIT */
/*
 * What stands in a filtered trace that never leaves its process: a marker for each call whose block didn't pass, of the
 * block's size. So lifetimes, which are counted in calls and bytes of the whole program, stay what they were. FORMAT.md
 * has no meaning for the number, so other observers take it for a marker, which changes nothing.
 */
#ifndef ANALYZE_LEFT_OUT_H
#define ANALYZE_LEFT_OUT_H

#include "mst_op.h"

enum { LEFT_OUT_OP = MST_OP_COUNT - 1 };

#endif
