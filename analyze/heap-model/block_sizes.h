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

struct block_sizes;

/* Instead of a block's index: Massif has forgotten it, and what is done with it. */
#define BLOCK_SIZES_FORGOTTEN (UINT64_MAX - 1)

/* Whether the settings need it at all. */
bool block_sizes_needed(const struct settings *settings);

/* NULL: no memory. `settings` must outlive it. */
struct block_sizes *block_sizes_create(const struct settings *settings);
void block_sizes_destroy(struct block_sizes *usable); /* NULL is allowed */
struct observer *block_sizes_observer(struct block_sizes *usable);

/* Whether it gives what other settings ask for, too. */
bool block_sizes_serves(const struct block_sizes *usable, const struct settings *settings);

/* By record of the present chunk: the block, UINT64_MAX: none or an unknown one; and its bytes. */
const uint64_t *block_sizes_blocks(const struct block_sizes *usable);
const uint64_t *block_sizes_bytes(const struct block_sizes *usable);

/* Whether any of these blocks is BLOCK_SIZES_FORGOTTEN. */
bool block_sizes_has_forgotten(const struct block_sizes *usable);

#endif
