/* SPDX-License-Identifier: MIT */
/* Patches the entries of an allocator that is linked into the program, or prepares that, as msrec has planned it. */
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
	uintptr_t function; /* 0: there is no such shape */
	unsigned arguments; /* of the function itself */
};

/* The process's other code has not run yet: entries may be patched, to lead to the functions that `shape_of` names. */
void entries_allow(struct linked_shape (*shape_of)(unsigned shape));

/*
 * Patches the program's entries if an allocator is linked into it: as msrec has planned for its command or, in a program
 * that was executed later, plans now. All of them or none. Returns whether they are patched; in a forked child they are if
 * they were in its parent.
 */
bool entries_patch(struct shm_family *family);

/* What the loader adds to the plan's addresses; the mapped range. */
struct entry_object {
	uintptr_t base, start, end;
};

/*
 * For entries [first, first + n) of a plan, which are the object's: makes the pieces that will lead to the functions that
 * `shape_of` names, ENTRY_PIECE bytes each, in code memory at `pieces`, and leaves the entries as they are. False: it cannot
 * be done. From now on entries_patch() takes the entries for patched.
 */
bool entries_prepare(const struct entry_plan *plan, uint32_t first, uint32_t n, uintptr_t pieces,
		     const struct entry_object *object, struct linked_shape (*shape_of)(unsigned shape));

#endif
