/* SPDX-License-Identifier: MIT */
/*
 * Which single block each record is about, and what that block takes: for settings whose answer
 * depends on more than the kinds of blocks. An observer, to be shown each chunk before those that
 * use it; settings that agree in what matters here share one.
 *
 * Valgrind's model: its allocator is simulated (arena.h), realloc included. A realloc that failed
 * makes Massif forget the block (unless the settings repair that), and its allocator keep it.
 */
#ifndef ANALYZE_BLOCK_SIZES_H
#define ANALYZE_BLOCK_SIZES_H

#include "observer.h"
#include "settings.h"

struct usable;

/* Instead of a block's index: Massif has forgotten it, and what is done with it. */
#define USABLE_FORGOTTEN (UINT64_MAX - 1)

/* Whether the settings need it at all. */
bool usable_needed(const struct settings *settings);

/* NULL: no memory. `settings` must outlive it. */
struct usable *usable_create(const struct settings *settings);
void usable_destroy(struct usable *usable); /* NULL is allowed */
struct observer *usable_observer(struct usable *usable);

/* Whether it gives what other settings ask for, too. */
bool usable_serves(const struct usable *usable, const struct settings *settings);

/* By record of the present chunk: the block, UINT64_MAX: none or an unknown one; and its bytes. */
const uint64_t *usable_blocks(const struct usable *usable);
const uint64_t *usable_bytes(const struct usable *usable);

/* Whether any of these blocks is USABLE_FORGOTTEN. */
bool usable_has_forgotten(const struct usable *usable);

#endif
