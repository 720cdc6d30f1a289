/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where in this process, and since when.
 *
 * Objects are found by pc through _dl_find_object (glibc 2.35 and later: no lock, safe in signal
 * handlers) or, where that is missing, through dl_iterate_phdr (takes the loader's lock; asked
 * once for each object, and for each uncached pc outside all objects). Every object found is
 * appended to the shared table (module_table.h) before its pc is used.
 *
 * modules_find() may be called by any thread at any time between modules_init() and the end of
 * the process. It never allocates, never changes errno, and takes only a spin lock of its own,
 * only while it appends.
 *
 * What other parts derive from the mappings (rules by pc, remembered stacks) is valid as long as
 * modules_state stands still: see modules_state_now().
 */
#ifndef MSREC_MODULES_H
#define MSREC_MODULES_H

#include "cfi.h"
#include "export.h"
#include "module_table.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The result of _dl_find_object(), as the x86-64 ABI lays it out. Declared here because headers
 * before glibc 2.35 lack it. */
struct modules_found {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *map;
	void *frames; /* .eh_frame_hdr, or NULL */
	unsigned long long reserved[7];
};

typedef int modules_find_function(void *pc, struct modules_found *found);

/* Starts to fill `table` (zeroed but for the capacities, which are set). `find` is
 * _dl_find_object, or NULL where the C library has none. `stamp` gives the time for opened and
 * closed, in the caller's unit. Enters the executable. Call once, before any other function here,
 * while no other thread is inside this module. */
void modules_init(struct module_table *table, modules_find_function *find, uint64_t (*stamp)(void));

/* In a forked child: goes on with another, empty table. Everything is found and entered anew. */
void modules_after_fork(struct module_table *table);

/* Finds the object around `pc`, enters it if it is new, and tells where its call frame
 * information is. False: pc is in no object. */
bool modules_find(uintptr_t pc, struct cfi_section *section);

/* Around every dlclose() of the program. Between the two, objects may be unmapped and others
 * mapped in their place, so nothing derived from the mappings is used or kept. At the end,
 * what is gone is marked as closed at `stamp`. Pairs nest, and several threads may be inside.
 * `alone`: no other thread can have opened anything meanwhile. */
void modules_closing_begin(void);
void modules_closing_end(uint64_t stamp, bool alone);

/* The same at once, for code outside of objects. */
void modules_code_changed(void);

/* Bits 0–15: threads between closing_begin and closing_end. Bits 16–39 change when an object is
 * entered, bits 40–63 when one was, or may have been, closed. Never 0. */
extern HIDDEN _Atomic uint64_t modules_state;

#define MODULES_CLOSING 0xffffu

/* Read once at the start of a capture: what was remembered under another state is void, and while
 * (state & MODULES_CLOSING) nothing may be remembered. */
static inline uint64_t modules_state_now(void)
{
	return atomic_load_explicit(&modules_state, memory_order_acquire);
}

/* The part of a state that rules by pc depend on: entering an object changes no rule, because
 * only code inside objects, and code that tables are registered for, has rules. */
static inline uint64_t modules_closings(uint64_t state)
{
	return state >> 40;
}

#endif
