/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the tool have in common. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "pub_tool_basics.h"
#include "ring.h"

/* Instructions of the program up to the end of its last block, or to where it was left early. */
extern ULong engine_instructions;

/* Tells of a call or a mark by a thread, in the order and with the count of instructions that it has. */
void engine_tell(ThreadId tid, struct told *told);

/* A range has been unmapped: stacks that lead through it are others now. */
void engine_unmapped(Addr start, SizeT size);

/* Something new is in a range; `debug_info` is Valgrind's number of the object whose code it is, else 0. */
void engine_mapped(Addr start, SizeT size, ULong debug_info);

/* ---- the heap (heap.c) ---- */

/* Replaces malloc and its like. `free_stacks`: frees are told with their stacks. */
void heap_init(void);
void heap_set_free_stacks(Bool wanted);
Bool heap_client_request(ThreadId tid, UWord *request, UWord *answer);

/* ---- the stack pointer (steps.c) ---- */

/* Has each of its changes told. */
void steps_init(void);

/* From here on they are the program's own: its first block is about to be translated. */
void steps_begin(void);

/* What has not been told yet goes out: something else is about to be told. */
void steps_flush(void);

/* ---- pages (pages.c) ---- */

/* Has everything told that maps or unmaps pages; the program's own malloc is not replaced. */
void pages_init(void);

#endif
