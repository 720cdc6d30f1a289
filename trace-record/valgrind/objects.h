/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's objects (executable, dynamic linker, libraries) in the table that msrec reads. */
#ifndef ENGINE_OBJECTS_H
#define ENGINE_OBJECTS_H

#include "pub_tool_basics.h"

/* Enters the object around `pc`, if there is one, into the table. */
void objects_meet(Addr pc);

/*
 * A range has been unmapped, or another object's code is mapped there. True: it held code of an object. As Valgrind does, an
 * object is taken for gone with any part of its code, but not with its data, nor where anonymous memory replaces the
 * code: programs put copies of their code into huge pages.
 */
Bool objects_leave(Addr start, SizeT size);

/* After a fork: the child's table is empty. */
void objects_forget(void);

#endif
