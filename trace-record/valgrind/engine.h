/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between the parts of the tool. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "pub_tool_basics.h"
#include "ring.h"

/* Instructions executed by the program, up to the last exit from a translated block. */
extern ULong engine_instructions;

/* Emits a call or a marker of a thread, with the present count of instructions, behind the SP changes before it. */
void engine_emit(ThreadId tid, struct event *event);

/* A range has been unmapped: stacks that lead through it are void. */
void engine_unmapped(Addr start, SizeT size);

/* A range has been mapped; `debug_info`: Valgrind's number of the object whose code it is, 0: none. */
void engine_mapped(Addr start, SizeT size, ULong debug_info);

/* ---- the heap (heap.c) ---- */

/* Replaces malloc and its like. */
void heap_init(void);

/* Frees are recorded with their stacks. */
void heap_set_free_stacks(Bool wanted);
Bool heap_client_request(ThreadId tid, UWord *request, UWord *answer);

/* ---- the stack pointer (sp_changes.c) ---- */

/* Has Valgrind report each change of the stack pointer. */
void sp_changes_init(void);

/* From here on changes are the program's own: its first block is about to be translated. */
void sp_changes_begin(void);

/* Emits pending changes, before another event is emitted. */
void sp_changes_flush(void);

/* ---- pages (pages.c) ---- */

/* Records all that maps or unmaps pages; the program's malloc is not replaced. */
void pages_init(void);

#endif
