/* SPDX-License-Identifier: MIT */
#include "heap_walk.h"

#include <stdlib.h>

#include "array.h"

#define BLOCK_IN_CHUNK 16u  /* sizeof(struct glibc_chunk) */
#define TRAIL 256u          /* chunks that a walk can go back: 2^0 ... */
#define BACK_BITS 9u        /* ... to 2^8, and again */
#define ATTEMPTS_MOST 500u  /* of a walk that does not come further */
#define RESUMED_BYTES 4096u /* behind which a walk that has gone back is a new one */
#define CHUNK_MOST (UINT64_C(1) << 46)

_Static_assert(sizeof(struct glibc_chunk) == BLOCK_IN_CHUNK, "as libc has it");

void heap_walk_finish(struct heap_walk *w)
{
	free(w->blocks);
	w->blocks = NULL;
	w->n = w->room = 0;
}

/* ---- chunks ---- */

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
	return is_copy(w) || !r->top ? size <= end - at : size <= CHUNK_MOST;
}

/* The chunk is in use if the next one says so. Blocks of other arenas say that they are; a free chunk's size stands twice. */
static bool take_chunk(struct heap_walk *w, const struct heap_region *r, uint64_t at,
		       const struct glibc_chunk *chunk, const struct glibc_chunk *next)
{
	const uint64_t size = glibc_chunk_size(chunk);

	if (is_fence(r, size))
		return true;
	if (!(next->head & CHUNK_PREV_IN_USE))
		return next->prev_size == size;
	if (chunk->head & CHUNK_IS_MMAPPED || !(chunk->head & CHUNK_NON_MAIN) != r->main)
		return false;
	return add_block(w, at + BLOCK_IN_CHUNK, bytes_of(size));
}

enum step { STEP_ON, STEP_END, STEP_BROKEN };

/* Where a walk is. */
struct place {
	uint64_t at;
	struct glibc_chunk chunk; /* there */
};

static enum step step(struct heap_walk *w, const struct heap_region *r, struct place *p)
{
	const uint64_t size = glibc_chunk_size(&p->chunk);
	struct glibc_chunk next;

	if (r->top && p->at >= r->top)
		return p->at == r->top || !is_copy(w) ? STEP_END : STEP_BROKEN;
	if (!r->top && size == 0)
		return p->at == r->end - BLOCK_IN_CHUNK ? STEP_END : STEP_BROKEN;
	if (!is_chunk(w, r, p->at, size) || !heap_memory_walk(w->memory, p->at + size, &next, sizeof(next)) ||
	    !take_chunk(w, r, p->at, &p->chunk, &next))
		return STEP_BROKEN;
	*p = (struct place){ p->at + size, next };
	return STEP_ON;
}

static bool begin(struct heap_walk *w, struct place *p, uint64_t at)
{
	p->at = at;
	return heap_memory_walk(w->memory, at, &p->chunk, sizeof(p->chunk));
}

static bool walk_copy(struct heap_walk *w, const struct heap_region *r)
{
	enum step result = STEP_ON;
	struct place p;

	if (!begin(w, &p, r->start))
		return false;
	while (result == STEP_ON)
		result = step(w, r, &p);
	return result == STEP_END;
}

/* The last chunks of a walk. */
struct trail {
	uint64_t chunks[TRAIL];
	uint64_t n;
};

/* Forgets the blocks from a chunk on, of which some may never have been there. */
static void forget_from(struct heap_walk *w, const struct heap_region *r, uint64_t chunk)
{
	while (w->n > r->first_block && w->blocks[w->n - 1].address > chunk)
		w->n--;
}

/* Goes so many chunks back, as far as is known. Returns where that is. */
static uint64_t go_back(struct trail *t, uint64_t chunks, uint64_t start)
{
	const uint64_t most = t->n < TRAIL ? t->n : TRAIL;

	if (chunks > most)
		chunks = most;
	t->n -= chunks;
	return chunks ? t->chunks[t->n % TRAIL] : start;
}

/*
 * In a process that runs a chunk may go between two looks, and another begin elsewhere. Then the walk goes on at a chunk before
 * that one, or further before, in what the memory is by then. What lies behind a chunk that has gone is mostly
 * still what it was, so the walk comes back to chunks that there are.
 */
static bool walk_live(struct heap_walk *w, struct heap_region *r)
{
	struct trail trail = { .n = 0 };
	unsigned attempt = 0;
	enum step result = STEP_ON;
	struct place p;

	if (!begin(w, &p, r->start))
		return false;
	while (result != STEP_END) {
		trail.chunks[trail.n++ % TRAIL] = p.at;
		result = step(w, r, &p);
		if (result == STEP_ON && p.at > r->reached + RESUMED_BYTES) {
			r->reached = p.at;
			attempt = 0;
		}
		if (result != STEP_BROKEN)
			continue;
		if (attempt == ATTEMPTS_MOST || w->no_memory || w->memory->late)
			return false;
		heap_memory_renew(w->memory);
		if (!begin(w, &p, go_back(&trail, UINT64_C(1) << attempt++ % BACK_BITS, r->start)))
			return false;
		forget_from(w, r, p.at);
	}
	return true;
}

bool heap_walk_region(struct heap_walk *w, struct heap_region *r)
{
	bool done;

	r->first_block = w->n;
	r->reached = r->start;
	done = is_copy(w) ? walk_copy(w, r) : walk_live(w, r);
	if (done)
		r->reached = r->end;
	else if (is_copy(w))
		w->n = r->first_block;
	r->n_blocks = w->n - r->first_block;
	return done;
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

	if (b && (!chunk_bytes || b->bytes == bytes_of(chunk_bytes)))
		b->bytes = 0;
}
