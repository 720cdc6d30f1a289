/* SPDX-License-Identifier: MIT */
/*
 * The block that each record is about, and the bytes that the block takes: for settings that need more than the kinds
 * of blocks. An observer, shown each chunk before the observers that use it; settings that agree here share one.
 *
 * --usable=valgrind simulates Valgrind's allocator (valgrind_arena.h), realloc included. A realloc that failed makes
 * Massif forget the block, unless --compat repairs that, while its allocator keeps it.
 */
#ifndef ANALYZE_BLOCK_SIZES_H
#define ANALYZE_BLOCK_SIZES_H

#include "observer.h"
#include "settings.h"

struct block_sizes;

/* In the place of a block's index: Massif has forgotten the block. */
#define BLOCK_SIZES_FORGOTTEN (UINT64_MAX - 1)

/* True: the settings need it. */
bool block_sizes_needed(const struct settings *settings);

/* NULL: no memory. `settings` must outlive the result. */
struct block_sizes *block_sizes_create(const struct settings *settings);
void block_sizes_destroy(struct block_sizes *usable); /* NULL is allowed */
struct observer *block_sizes_observer(struct block_sizes *usable);

/* True: other settings can share it. */
bool block_sizes_serves(const struct block_sizes *usable, const struct settings *settings);

/* By record of the present chunk: the block (UINT64_MAX: none, or unknown) and its bytes. */
const uint64_t *block_sizes_blocks(const struct block_sizes *usable);
const uint64_t *block_sizes_bytes(const struct block_sizes *usable);

/* True: one of these blocks is BLOCK_SIZES_FORGOTTEN. */
bool block_sizes_has_forgotten(const struct block_sizes *usable);

#endif
