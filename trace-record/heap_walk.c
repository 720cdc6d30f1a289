/* SPDX-License-Identifier: MIT */
#include "heap_walk.h"

#include <stdlib.h>

#include "array.h"

#define BLOCK_IN_CHUNK 16u /* sizeof(struct glibc_chunk) */
#define CHUNK_MOST (UINT64_C(1) << 46)

_Static_assert(sizeof(struct glibc_chunk) == BLOCK_IN_CHUNK, "as libc has it");

void heap_walk_finish(struct heap_walk *w)
{
	free(w->blocks);
	w->blocks = NULL;
	w->n = w->room = 0;
}

/* ---- chunks ---- */

static uint64_t size_of(const struct glibc_chunk *chunk)
{
	return chunk->head & ~(uint64_t)CHUNK_BITS;
}

/* A block of a chunk in use has the first word of the next chunk, too. */
static uint64_t bytes_of(uint64_t chunk_size)
{
	return chunk_size - 8;
}

uint64_t heap_walk_chunk_bytes(const struct heap_block *block)
{
	return block->bytes ? block->bytes + 8 : 0;
}

static bool add_block(struct heap_walk *w, uint64_t address, uint64_t bytes)
{
	if (!array_reserve(&w->blocks, w->n, &w->room, sizeof(*w->blocks))) {
		w->no_memory = true;
		return false;
	}
	w->blocks[w->n++] = (struct heap_block){ address, bytes };
	return true;
}

static bool is_copy(const struct heap_walk *w)
{
	return w->memory->n_parts && !w->memory->live;
}

/* Chunks of 16 bytes are fences, at the end of a heap that another one follows. */
static bool is_fence(const struct heap_region *r, uint64_t size)
{
	return !r->top && size == BLOCK_IN_CHUNK;
}

/* Whether a chunk in a region that is not its end can be one. In a process that runs the last one may reach beyond the region. */
static bool is_chunk(const struct heap_walk *w, const struct heap_region *r, uint64_t at, uint64_t size)
{
	const uint64_t end = r->top ? r->top : r->end - BLOCK_IN_CHUNK;

	if (size % GLIBC_ALIGNMENT || (size < GLIBC_CHUNK_LEAST && !is_fence(r, size)))
		return false;
	return is_copy(w) ? size <= end - at : size <= CHUNK_MOST;
}

/* The chunk is in use if the next one says so. Blocks of other arenas say that they are; a free chunk's size stands twice. */
static bool take_chunk(struct heap_walk *w, const struct heap_region *r, uint64_t at,
		       const struct glibc_chunk *chunk, const struct glibc_chunk *next)
{
	const uint64_t size = size_of(chunk);

	if (is_fence(r, size))
		return true;
	if (!(next->head & CHUNK_PREV_IN_USE))
		return next->prev_size == size;
	if (chunk->head & CHUNK_IS_MMAPPED || !(chunk->head & CHUNK_NON_MAIN) != r->main)
		return false;
	return add_block(w, at + BLOCK_IN_CHUNK, bytes_of(size));
}

static bool walk(struct heap_walk *w, const struct heap_region *r)
{
	struct glibc_chunk chunk, next;
	uint64_t at = r->start;

	if (!heap_memory_walk(w->memory, at, &chunk, sizeof(chunk)))
		return false;
	for (;;) {
		const uint64_t size = size_of(&chunk);

		if (r->top && at >= r->top)
			return at == r->top || !is_copy(w);
		if (!r->top && size == 0)
			return at == r->end - BLOCK_IN_CHUNK;
		if (!is_chunk(w, r, at, size) ||
		    !heap_memory_walk(w->memory, at + size, &next, sizeof(next)) ||
		    !take_chunk(w, r, at, &chunk, &next))
			return false;
		at += size;
		chunk = next;
	}
}

bool heap_walk_region(struct heap_walk *w, struct heap_region *r)
{
	r->first_block = w->n;
	r->n_blocks = 0;
	if (!walk(w, r)) {
		w->n = r->first_block;
		return false;
	}
	r->n_blocks = w->n - r->first_block;
	return true;
}

void heap_walk_drop(struct heap_walk *w, const struct heap_region *r)
{
	for (size_t i = 0; i < r->n_blocks; i++)
		w->blocks[r->first_block + i].bytes = 0;
}

/* ---- blocks ---- */

struct heap_block *heap_walk_find(const struct heap_walk *w, uint64_t address)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (w->blocks[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->n && w->blocks[low].address == address ? &w->blocks[low] : NULL;
}

void heap_walk_free(struct heap_walk *w, uint64_t address, uint64_t chunk_bytes)
{
	struct heap_block *b = heap_walk_find(w, address);

	if (b && b->bytes == bytes_of(chunk_bytes))
		b->bytes = 0;
}
