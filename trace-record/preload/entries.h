/* SPDX-License-Identifier: MIT */
/* Patches the entries of an allocator that is linked into the program, as msrec has planned it. */
#ifndef PRELOAD_ENTRIES_H
#define PRELOAD_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm.h"

/* A patched function. What stands before it gets this behind the function's own arguments. */
struct linked {
	uintptr_t real;           /* runs the function itself */
	size_t (*usable)(void *); /* of its allocator; NULL: unknown */
	uint8_t op;               /* enum mst_op */
	uint8_t any_free;         /* which function frees is not known */
	uint8_t is_operator;
};

/* What stands before functions of a shape (enum entry_shape). */
struct linked_shape {
	uintptr_t function;
	unsigned arguments; /* of the function itself; 0: there is no such shape */
};

/* The process's other code has not run yet: entries may be patched, to lead to the functions that `shape_of` names. */
void entries_allow(struct linked_shape (*shape_of)(unsigned shape));

/*
 * Patches the program's entries if an allocator is linked into it: as msrec has planned for its command or, in a program
 * that was executed later, plans now. All of them or none. Returns whether they are patched; in a forked child they are if
 * they were in its parent.
 */
bool entries_patch(struct shm_family *family);

#endif
