/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks by Valgrind's unwinder, each as it gives it. Of a deep one only the innermost frames are walked, if
 * what is outside of them is as it was in a stack that was walked whole: the same frame at the same place, with the
 * same bytes in memory from there to the outermost frame. Those bytes are all that the unwinder goes by.
 */
#ifndef ENGINE_UNWIND_H
#define ENGINE_UNWIND_H

#include "pub_tool_basics.h"

/* `most`: frames that are asked for at once. */
void unwind_init(UInt most);

/* The stack of a thread from the innermost frame, `most` frames or fewer; returns how many. */
UInt unwind(ThreadId tid, Addr *frames, UInt most);

/* From here on all are walked anew: something else may be mapped where there was code or a stack. */
void unwind_forget(void);

#endif
