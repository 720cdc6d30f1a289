/* SPDX-License-Identifier: MIT */
/*
 * A model of the heap that Valgrind gives a program: which usable size each block gets. The real
 * one is deterministic in the sequence of requests; addresses matter only in comparisons, and here
 * as if the heap were alone in an empty address space. No block's memory exists.
 *
 * The rules were found by experiment with 3.19, the oracle test compares them with it. What cannot
 * be modelled is where alignments above a page fall, and other mappings between those of the heap.
 */
#ifndef ANALYZE_ARENA_H
#define ANALYZE_ARENA_H

#include <stdint.h>

struct arena;

#define ARENA_NONE UINT32_MAX

/* NULL: no memory. */
struct arena *arena_create(void);
void arena_destroy(struct arena *arena); /* NULL is allowed */

/*
 * A block of `size` bytes, by malloc's way if `align` is 16, else by memalign's; `align` is a power
 * of two. Returns a number for it until it is freed, or ARENA_NONE: no memory, or the block, or one
 * more mapping, is beyond what the model holds (2^46 bytes, 65536 mappings of 4 MiB or more).
 */
uint32_t arena_alloc(struct arena *arena, uint64_t size, uint64_t align);
void arena_free(struct arena *arena, uint32_t block);
uint64_t arena_usable(const struct arena *arena, uint32_t block);

#endif
