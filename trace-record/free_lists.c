/* SPDX-License-Identifier: MIT */
#include "free_lists.h"

#include <stdlib.h>

#include "array.h"

#define BATCH HEAP_MEMORY_WORDS

void free_lists_finish(struct free_lists *l)
{
	free(l->blocks);
	free(l->cursors);
	*l = (struct free_lists){ .heap = l->heap, .memory = l->memory, .most = l->most };
}

void free_lists_clear(struct free_lists *l)
{
	l->n = l->n_cursors = 0;
}

static void add_cursor(struct free_lists *l, const struct free_cursor *cursor)
{
	if (cursor->link && cursor->left &&
	    array_reserve(&l->cursors, l->n_cursors, &l->cursors_room, sizeof(*l->cursors)))
		l->cursors[l->n_cursors++] = *cursor;
}

static bool add_block(struct free_lists *l, uint64_t address, uint64_t chunk_bytes, bool cached)
{
	if (l->n >= l->most || !array_reserve(&l->blocks, l->n, &l->room, sizeof(*l->blocks)))
		return false;
	l->blocks[l->n++] = (struct free_block){ address, chunk_bytes, cached };
	return true;
}

/* ---- the lists ---- */

/* Of a bin with chunks of several sizes: 0. */
static uint64_t bin_bytes(unsigned bin)
{
	if (bin >= GLIBC_TCACHE_SMALL)
		return 0;
	return GLIBC_CHUNK_LEAST + (uint64_t)bin * GLIBC_ALIGNMENT;
}

void free_lists_add_fastbins(struct free_lists *l, const struct glibc_arena *arena)
{
	for (unsigned i = 0; i < GLIBC_FASTBINS; i++)
		add_cursor(l, &(struct free_cursor){ .link = arena->fastbins[i],
						     .before = sizeof(struct glibc_chunk),
						     .chunk_bytes = bin_bytes(i),
						     .left = l->most });
}

/* The bytes of the chunk around a block; 0: there is none. */
static uint64_t chunk_bytes_of(const struct free_lists *l, uint64_t address)
{
	struct glibc_chunk chunk;

	if (address % GLIBC_ALIGNMENT || address < sizeof(chunk) ||
	    !heap_memory_read(l->memory, address - sizeof(chunk), &chunk, sizeof(chunk)))
		return 0;
	return chunk.head & ~(uint64_t)CHUNK_BITS;
}

/* The chunk may be larger by what would be too small for another one: by 16 bytes, with glibc 2.43 also by 32. */
bool free_lists_may_be_cache(const struct free_lists *l, uint64_t address)
{
	const uint64_t least = (glibc_heap_tcache_bytes(l->heap) + 8 + GLIBC_ALIGNMENT - 1) /
			       GLIBC_ALIGNMENT * GLIBC_ALIGNMENT;
	const uint64_t bytes = chunk_bytes_of(l, address);

	return bytes >= least && bytes <= least + 2 * GLIBC_ALIGNMENT;
}

void free_lists_add_cache(struct free_lists *l, uint64_t address)
{
	const uint64_t chunk_bytes = chunk_bytes_of(l, address);
	uint8_t bytes[sizeof(struct glibc_tcache)];
	struct glibc_tcache t;

	if (!chunk_bytes || !heap_memory_read(l->memory, address, bytes, glibc_heap_tcache_bytes(l->heap)) ||
	    !add_block(l, address, chunk_bytes, true))
		return;
	glibc_heap_parse_tcache(l->heap, bytes, &t);
	for (unsigned i = 0; i < GLIBC_TCACHE_BINS; i++)
		add_cursor(l, &(struct free_cursor){ .link = t.entries[i],
						     .chunk_bytes = bin_bytes(i),
						     .left = t.counts[i] });
}

/* ---- reading ---- */

/* Takes the next block of some lists. */
static void step(struct free_lists *l, struct free_cursor *cursors, uint32_t n)
{
	uint64_t addresses[BATCH], links[BATCH];
	uint32_t there;

	for (uint32_t i = 0; i < n; i++)
		addresses[i] = cursors[i].link + cursors[i].before;
	there = heap_memory_read_words(l->memory, addresses, links, n);
	for (uint32_t i = 0; i < there; i++) {
		struct free_cursor *const c = &cursors[i];

		if (!add_block(l, addresses[i], c->chunk_bytes, c->before == 0))
			c->left = 1;
		c->link = --c->left > 0 ? glibc_link(l->heap, addresses[i], links[i]) : 0;
	}
	/* What cannot be read is no list; those behind it are read the next time. */
	if (there < n)
		cursors[there].link = 0;
}

static void drop_ended(struct free_lists *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n_cursors; i++) {
		if (l->cursors[i].link)
			l->cursors[n++] = l->cursors[i];
	}
	l->n_cursors = n;
}

/* All lists at the same time, a block of each in a turn: so there are as few turns as the longest has blocks. */
void free_lists_read(struct free_lists *l, uint64_t until_ns)
{
	while (l->n_cursors > 0 && !(until_ns && heap_memory_now() > until_ns)) {
		for (uint32_t i = 0; i < l->n_cursors; i += BATCH)
			step(l, &l->cursors[i], l->n_cursors - i < BATCH ? l->n_cursors - i : BATCH);
		drop_ended(l);
	}
}
