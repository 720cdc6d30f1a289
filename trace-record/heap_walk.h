/* SPDX-License-Identifier: MIT */
/* Which blocks are live in the chunks of glibc's heap. The memory is hostile input: all that it says is checked. */
#ifndef TRACE_RECORD_HEAP_WALK_H
#define TRACE_RECORD_HEAP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "glibc_heap.h"
#include "heap_memory.h"

/* A block that is live; malloc_usable_size() gives its bytes. */
struct heap_block {
	uint64_t address, bytes; /* 0 bytes: it is free */
};

/* Chunks in a row. */
struct heap_region {
	uint64_t start, end; /* of the first chunk; behind the last one */
	uint64_t top;        /* the free chunk at the end; 0: it ends with a chunk of no size */
	uint32_t arena;
	bool main; /* of the main arena */
	size_t first_block, n_blocks;
	uint64_t reached; /* how far the walk came */
};

/* Zero-initialise, and set the first two. */
struct heap_walk {
	const struct glibc_heap *heap;
	struct heap_memory *memory;
	struct heap_block *blocks; /* ascending, as long as regions are walked in that order */
	size_t n, room;
	bool no_memory;
};

void heap_walk_finish(struct heap_walk *walk);

/*
 * Adds the chunks in use. False: the walk did not come to the region's end. Of a copy nothing is added then, of a process that
 * runs what came before.
 */
bool heap_walk_region(struct heap_walk *walk, struct heap_region *region);

/* The block at an address; NULL: none. */
struct heap_block *heap_walk_find(const struct heap_walk *walk, uint64_t address);

/* The bytes of the block's chunk; 0: it is free. */
uint64_t heap_walk_chunk_bytes(const struct heap_block *block);

/* A block is free after all, if there is one at the address whose chunk has that size; 0: any size. */
void heap_walk_free(struct heap_walk *walk, uint64_t address, uint64_t chunk_bytes);

#endif
