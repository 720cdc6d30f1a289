/* SPDX-License-Identifier: MIT */
/*
 * Code objects of a script that were seen on stacks, and the functions that they are the code of (script_table.h).
 *
 * A code object is known by its address while it lives. The program may free it and have another one at the same address; so
 * each has a life, a number that no other code object of the process ever has, in a word that is 0 when the code object is
 * gone. A stack that was remembered with the word and its value is right as long as these agree.
 *
 * Any thread may look code objects up that cannot go meanwhile, such as those on its own stack. Nothing allocates through malloc
 * or changes errno. script_codes_add() and script_codes_drop() take a spin lock of their own.
 */
#ifndef PRELOAD_SCRIPT_CODES_H
#define PRELOAD_SCRIPT_CODES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "script_table.h"

struct script_code {
	_Atomic uintptr_t object; /* 0: gone */
	_Atomic uint64_t life;    /* 0: gone */
	uint32_t function;        /* in the script table */
	_Atomic uint32_t next;    /* in its bucket, or in the list of free ones; 0: none */
};

/* A text of `n` code points of 1, 2 or 4 bytes. */
struct script_text {
	const void *points;
	size_t n;
	unsigned width;
};

/* Adds functions to `table` from now on, those that are known first. False: no memory. */
bool script_codes_begin(struct script_table *table);

/* In a forked child, where the owner of the lock may not exist. */
void script_codes_after_fork(void);

/* A code object that is known; NULL: it is not. */
struct script_code *script_codes_find(uintptr_t object);

/* Adds a code object unless it is known. NULL: there is no room. */
struct script_code *script_codes_add(uintptr_t object, const struct script_text *file,
				     const struct script_text *name);

/* The code object is gone. */
void script_codes_drop(uintptr_t object);

/* All are gone. */
void script_codes_drop_all(void);

/* How many that were known have gone. While that stays the same, so does each life. */
extern HIDDEN _Atomic uint64_t script_codes_deaths;

static inline uint64_t script_codes_gone(void)
{
	return atomic_load_explicit(&script_codes_deaths, memory_order_relaxed);
}

#endif
