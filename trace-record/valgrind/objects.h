/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's objects (executable, dynamic linker, libraries) in the table that msrec reads. */
#ifndef ENGINE_OBJECTS_H
#define ENGINE_OBJECTS_H

#include "pub_tool_basics.h"

/* Has the object around `pc` in the table, if there is one. */
void objects_meet(Addr pc);

/*
 * A range has been unmapped, or another object's code is mapped there. True: there was code of an object in it. As for
 * Valgrind itself, an object goes with any part of its code, and not with its data or where something else takes the
 * code's place: programs put copies of their code into huge pages.
 */
Bool objects_leave(Addr start, SizeT size);

/* After a fork: the child has a table of its own, which is empty. */
void objects_forget(void);

#endif
