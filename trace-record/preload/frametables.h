/* SPDX-License-Identifier: MIT */
/*
 * Call frame information that lies in no object: tables that the program registers for code that it makes itself, by
 * __register_frame() and its like.
 *
 * The thread that registers a table turns it into rules (rules.h) at once. Later the table may go at any time, while another
 * thread walks over its code. Rows that a rule cannot hold are left out.
 *
 * The rules lie in memory that is mapped with the first table and never given back. Any thread may call
 * frametables_rule() at any time; it takes no lock. The other functions share a spin lock. None allocates or
 * changes errno.
 */
#ifndef PRELOAD_FRAMETABLES_H
#define PRELOAD_FRAMETABLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Adds the table at `begin`, unless it is there already: entries until one of length 0, or a single entry if that describes
 * a function (as LLVM's unwinder takes it). A `list` is an array of pointers to such tables that ends with NULL.
 */
void frametables_add(const void *begin, bool list);

/* Removes the table, if there is one. */
void frametables_remove(const void *begin);

/* The rule (without its tag) for the code at `address`, of the last table that has one; RULE_NONE: there is none. */
uint64_t frametables_rule(uintptr_t address);

/* In a forked child: frees the lock, whose owner may not exist there. */
void frametables_after_fork(void);

#endif
