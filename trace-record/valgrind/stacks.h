/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of the program, as Valgrind's unwinder gives them, emitted as a tree of frames: each frame once, below the frames
 * outside of it.
 */
#ifndef ENGINE_STACKS_H
#define ENGINE_STACKS_H

#include <stdint.h>

#include "pub_tool_basics.h"

/* `depth`: frames to keep of a stack. */
void stacks_init(uint32_t depth);

/*
 * Captures the stack of a thread without its `skip` innermost frames. Returns the node of the innermost frame that is left,
 * which has been emitted; 0 if there is none.
 */
uint16_t stacks_capture(ThreadId tid, uint32_t skip);

/* The same for a stack of one frame at `pc`. */
uint16_t stacks_single(Addr pc);

/* Forgets all nodes, because code was unmapped or another ring is in use. */
void stacks_forget(void);

#endif
