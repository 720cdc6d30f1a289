/* SPDX-License-Identifier: MIT */
/*
 * A model of Valgrind's allocator for the program it runs: the usable size of each block, and with it what Massif
 * counts as its slop. No memory stands behind the blocks; the model keeps only their places and sizes.
 *
 * A block of n bytes takes a payload of n rounded up to 16, and 32 bytes around it. Free blocks lie in 112 lists by
 * size; the first one that is large enough is taken. What remains of it becomes a free block, unless it is 16 bytes,
 * which stay with the block: that is why a usable size depends on the whole history. A block of more than about 4 MiB
 * fills pages of its own; the memalign family keeps all bytes after the aligned address.
 *
 * The rules are those of Valgrind 3.19 with Massif's red zone of 0, and were found from outside:
 * tests/oracle/usable_oracle.py compares the model with Valgrind. Left out is what the program maps otherwise, which
 * may change the order of far-apart blocks. With alignments above 4096 the sizes depend on where the heap begins. That
 * is behind the libraries that Valgrind has loaded, and moves with their sizes and with that of ld.so.cache, so a trace
 * does not tell it.
 *
 * Sizes are bytes. Memory: 36 bytes a live or free block, 32 more for a free one of more than about 150 KiB. A call
 * takes O(log n) expected time. Single-threaded.
 */
#ifndef ANALYZE_VALGRIND_ARENA_H
#define ANALYZE_VALGRIND_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#define ARENA_NONE UINT32_MAX

/* Where the heap of a small program began under Massif, on Debian 12, and the addresses that Valgrind itself occupies. */
#define ARENA_FIRST 0x4a3a000U
#define ARENA_TOOL_BEGIN 0x58000000U
#define ARENA_TOOL_END 0x58c2d000U
#define ARENA_END (UINT64_C(1) << 47)

struct arena;

/* `first`: the address of the first superblock, a page's, below ARENA_TOOL_BEGIN. NULL: no memory. */
struct arena *arena_create(uint64_t first);
void arena_destroy(struct arena *arena); /* NULL is allowed */

/*
 * Allocates a block and stores its usable size, at least `size`. An alignment of at most 16 is malloc, calloc, a moving
 * realloc and plain new; others are rounded up to a power of two and take memalign's way. A realloc that stays in place
 * (the new size is at most the usable one) needs no call; another one allocates before the old block is freed.
 *
 * Returns the block's id, valid until arena_free() and used again later; ARENA_NONE: the address space has no room for
 * the block, or there is no memory.
 */
uint32_t arena_alloc(struct arena *arena, uint64_t size, uint64_t align, uint64_t *usable);

/* Frees a live block. Returns the usable size that it had. */
uint64_t arena_free(struct arena *arena, uint32_t id);

/* True: memory has run out, so that a block that had room is missing. */
bool arena_is_starved(const struct arena *arena);

/* Of a live block: its usable size, and the address of its first byte in the model. */
uint64_t arena_usable(const struct arena *arena, uint32_t id);
uint64_t arena_address(const struct arena *arena, uint32_t id);

#endif
