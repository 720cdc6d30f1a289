/* SPDX-License-Identifier: MIT */
/*
 * Call frame information that the program registers for code that it makes itself, as __register_frame() and its
 * like take it: what lies in no object's .eh_frame.
 *
 * A table is turned into rules (rules.h) once, when it is registered, by the thread that registers it: later it may
 * go at any time, while another thread walks over its code. What a rule cannot say is left out, as if it weren't in
 * the table.
 *
 * The rules lie in memory that is mapped with the first table and never given back. frametables_rule() may be called
 * by any thread at any time; it takes no lock. The others take a spin lock of their own. Never allocates or changes
 * errno.
 */
#ifndef PRELOAD_FRAMETABLES_H
#define PRELOAD_FRAMETABLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The program has a table at `begin`: entries until one of length 0, or a single one if that describes a function (as
 * LLVM's unwinder takes it); or, if it is a `list`, pointers to such, until NULL. What is there already stays.
 */
void frametables_add(const void *begin, bool list);

/* The table is gone; nothing happens if there was none. */
void frametables_remove(const void *begin);

/* The rule (without its tag) that the table which came last has for the code at `address`; RULE_NONE: there is none. */
uint64_t frametables_rule(uintptr_t address);

/* In a forked child: the thread that had the lock may not be there. */
void frametables_after_fork(void);

#endif
