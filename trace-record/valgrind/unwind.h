/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks exactly as Valgrind's unwinder gives them. Of a deep stack only the innermost frames are walked, if the rest is as in
 * the last stack that was walked whole: the same frame at the same place, and the same bytes in memory from there to
 * the outermost frame. The unwinder depends on nothing else.
 */
#ifndef ENGINE_UNWIND_H
#define ENGINE_UNWIND_H

#include "pub_tool_basics.h"

/* `most`: the largest number of frames that unwind() will be asked for. */
void unwind_init(UInt most);

/* Walks the stack of a thread from the innermost frame, `most` frames at most; returns their number. */
UInt unwind(ThreadId tid, Addr *frames, UInt most);

/* Forgets the last stack, because code or a stack was unmapped or replaced. */
void unwind_forget(void);

#endif
