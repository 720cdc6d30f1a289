/* SPDX-License-Identifier: MIT */
/*
 * The blocks that glibc's malloc keeps in lists of free ones, though their chunks look as if they were in use: those in caches
 * of threads (tcache) and in fastbins. The lists are hostile input.
 */
#ifndef TRACE_RECORD_FREE_LISTS_H
#define TRACE_RECORD_FREE_LISTS_H

#include "glibc_heap.h"
#include "heap_memory.h"

struct free_block {
	uint64_t address;
	uint64_t chunk_bytes; /* 0: any number */
	bool cached;          /* in use for malloc: in a thread's cache, or that itself */
};

/* The next block of a list that is read. */
struct free_cursor {
	uint64_t link;        /* 0: the list has ended */
	uint64_t before;      /* links lead to what is so many bytes before a block */
	uint64_t chunk_bytes; /* of each; 0: they differ */
	uint64_t left;        /* blocks, at most */
};

/* Zero-initialise, and set the first three. */
struct free_lists {
	const struct glibc_heap *heap;
	struct heap_memory *memory;
	uint32_t most; /* blocks: lists may lead in circles */
	struct free_block *blocks;
	uint32_t n, room;
	struct free_cursor *cursors;
	uint32_t n_cursors, cursors_room;
};

void free_lists_finish(struct free_lists *lists);

/* Begins anew. */
void free_lists_clear(struct free_lists *lists);

/* Adds the lists of an arena's fastbins. */
void free_lists_add_fastbins(struct free_lists *lists, const struct glibc_arena *arena);

/* Whether the block at an address may be a thread's cache. */
bool free_lists_may_be_cache(const struct free_lists *lists, uint64_t address);

/* Adds a cache, which is malloc's own block, and its lists. */
void free_lists_add_cache(struct free_lists *lists, uint64_t address);

/* Reads the lists to their ends, or until that time of CLOCK_MONOTONIC, and goes on the next time; 0: no limit. */
void free_lists_read(struct free_lists *lists, uint64_t until_ns);

#endif
