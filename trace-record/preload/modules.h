/* SPDX-License-Identifier: MIT */
/*
 * The objects of this process: where they are mapped, and since when.
 *
 * _dl_find_object (glibc 2.35 and later: no lock, safe in signal handlers) finds an object by pc. Where it is missing,
 * libc_each_object() does, by glibc's dl_iterate_phdr with the loader's lock; it is asked once for each object, and for each
 * uncached pc outside all objects. Every object found is entered into the shared table (module_table.h) before its pc is used.
 *
 * Any thread may call modules_find() at any time between modules_init() and the end of the process. It never allocates or
 * changes errno; it takes a spin lock of its own only while it enters an object.
 *
 * What other files derive from the mappings (rules by pc, remembered stacks) is valid while modules_state does not change:
 * see modules_state_now().
 */
#ifndef MSREC_MODULES_H
#define MSREC_MODULES_H

#include "cfi.h"
#include "export.h"
#include "module_table.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The result of _dl_find_object() in the layout of x86-64. Declared here because headers before glibc 2.35 lack it. */
struct modules_found {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *map;
	void *frames; /* .eh_frame_hdr, or NULL */
	unsigned long long reserved[7];
};

typedef int modules_find_function(void *pc, struct modules_found *found);

/*
 * Starts to fill `table` (zeroed but for the capacities, which are set), and enters the executable. `find` is
 * _dl_find_object, or NULL where the C library has none. `stamp` gives the time for `opened` and `closed`, in the
 * caller's unit. Call once, before any other function here, while no other thread is inside this module.
 */
void modules_init(struct module_table *table, modules_find_function *find, uint64_t (*stamp)(void));

/*
 * Whom to call when an object was entered, and when one that spanned [start, end) is gone; NULL: none. Before modules_init().
 */
struct sighting;
typedef void modules_entered(const struct sighting *seen);
typedef void modules_gone(uintptr_t start, uintptr_t end);
void modules_watch(modules_entered *entered, modules_gone *gone);

/*
 * In a forked child: goes on with another, empty table. Takes over what the parent's says of the objects that are open, so that
 * all that was derived from the mappings stays valid; where that cannot be, or without `parents`, enters all objects anew.
 */
void modules_after_fork(struct module_table *table, const struct module_table *parents);

/* Finds the object around `pc`, enters it if it is new, and gives its call frame information. False: pc is in no object. */
bool modules_find(uintptr_t pc, struct cfi_section *section);

/*
 * Around every dlclose() of the program. Between the two, objects may be unmapped and others mapped in their place, so nothing
 * derived from the mappings is used or kept. At the end, objects that are gone are closed at `stamp`. Pairs nest, and
 * several threads may be inside. `alone`: no other thread can have opened an object meanwhile.
 */
void modules_closing_begin(void);
void modules_closing_end(uint64_t stamp, bool alone);

/* The same for code outside of objects, at once. */
void modules_code_changed(void);

/*
 * Bits 0-15: threads between closing_begin and closing_end. Bits 16-39 change when an object is entered, bits 40-63 when one
 * was, or may have been, closed. Never 0.
 */
extern HIDDEN _Atomic uint64_t modules_state;

#define MODULES_CLOSING 0xffffu

/*
 * Read once at the start of a capture. What was remembered under another state is void; while (state & MODULES_CLOSING)
 * nothing may be remembered.
 */
static inline uint64_t modules_state_now(void)
{
	return atomic_load_explicit(&modules_state, memory_order_acquire);
}

/*
 * The part of a state that rules by pc depend on. Entering an object changes no rule, because only code inside objects, and
 * code with registered tables, has rules.
 */
static inline uint64_t modules_closings(uint64_t state)
{
	return state >> 40;
}

#endif
