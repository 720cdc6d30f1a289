/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's objects (executable, dynamic linker, libraries) in the table that msrec reads. */
#ifndef ENGINE_OBJECTS_H
#define ENGINE_OBJECTS_H

#include "pub_tool_basics.h"

/* Has the object around `pc` in the table, if there is one. */
void objects_meet(Addr pc);

/* A range has been unmapped, or something else is mapped there. True: there was an object in it. */
Bool objects_leave(Addr start, SizeT size);

/* After a fork: the child has a table of its own, which is empty. */
void objects_forget(void);

#endif
