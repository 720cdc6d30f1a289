/* SPDX-License-Identifier: MIT */
#include "mapped_chunks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "array.h"
#include "os.h"

#define CHUNKS_MOST 65536u
#define PAGES_MOST (1u << 18) /* that are looked at behind what is no chunk */
#define SPANS 256u            /* of a call of process_vm_readv() */
#define HEADER sizeof(struct glibc_chunk)

void mapped_chunks_finish(struct mapped_chunks *c)
{
	free(c->items);
	*c = (struct mapped_chunks){ 0 };
}

/* In front of an aligned block some of the mapping is not used, and prev_size says how much. */
uint64_t mapped_chunk_bytes(const struct mapped_chunk *c)
{
	return c->chunk.prev_size + glibc_chunk_size(&c->chunk);
}

uint64_t mapped_chunk_usable(const struct mapped_chunk *c)
{
	return glibc_chunk_size(&c->chunk) - HEADER;
}

struct glibc_mapped mapped_chunks_count(const struct mapped_chunks *c)
{
	struct glibc_mapped found = { 0 };

	for (uint32_t i = 0; i < c->n; i++) {
		if (!c->items[i].there)
			continue;
		found.blocks++;
		found.bytes += mapped_chunk_bytes(&c->items[i]);
	}
	return found;
}

/* ---- finding ---- */

struct search {
	struct mapped_chunks *chunks;
	struct target *target;
	const struct glibc_mapped *wanted;
	is_heap *in_heap;
	const void *context;
	uint64_t bytes; /* of the mappings found */
	uint32_t pages; /* left to be looked at */
};

static bool is_done(const struct search *s)
{
	return s->chunks->n >= CHUNKS_MOST || s->chunks->n >= s->wanted->blocks ||
	       s->bytes >= s->wanted->bytes;
}

/* Whether a chunk lies `before` bytes behind the start of a mapping with room for `most` bytes. */
static bool is_mapped(const struct glibc_chunk *chunk, uint64_t before, uint64_t most)
{
	const uint64_t size = glibc_chunk_size(chunk);

	return (chunk->head & CHUNK_BITS) == CHUNK_IS_MMAPPED && chunk->prev_size == before &&
	       size >= GLIBC_CHUNK_LEAST && size % GLIBC_ALIGNMENT == 0 && size <= most - before &&
	       (before + size) % PAGE == 0;
}

/* Where the chunk of a block with that alignment lies in a mapping. The start is one of a page. */
static uint64_t chunk_before(uint64_t start, uint64_t alignment)
{
	const uint64_t before = ((start + HEADER + alignment - 1) & ~(alignment - 1)) - HEADER - start;

	return before && before < GLIBC_CHUNK_LEAST ? before + alignment : before;
}

/*
 * The chunk of a mapping that begins here. Where an aligned block was asked for, the first chunk has been cut, and its size
 * is still there: so aligned ones come first.
 */
static bool chunk_of(const struct search *s, uint64_t start, uint64_t end, struct mapped_chunk *found)
{
	found->there = true;
	for (uint64_t alignment = 2 * GLIBC_ALIGNMENT; alignment < end - start; alignment *= 2) {
		const uint64_t before = chunk_before(start, alignment);

		found->address = start + before;
		if (before && before < end - start &&
		    target_read(s->target, found->address, &found->chunk, HEADER) &&
		    is_mapped(&found->chunk, before, end - start))
			return true;
	}
	found->address = start;
	return target_read(s->target, start, &found->chunk, HEADER) &&
	       is_mapped(&found->chunk, 0, end - start);
}

/* Whether a page that begins so may be the start of such a mapping. */
static bool looks_mapped(const struct glibc_chunk *chunk, uint64_t most)
{
	return chunk->prev_size == 0 && (chunk->head & CHUNK_BITS) == CHUNK_IS_MMAPPED &&
	       glibc_chunk_size(chunk) && glibc_chunk_size(chunk) % PAGE == 0 &&
	       glibc_chunk_size(chunk) <= most;
}

/* The first page in [at, end) that may be one; `end`: none. */
static uint64_t next_page(struct search *s, uint64_t at, uint64_t end)
{
	struct glibc_chunk headers[SPANS];
	struct iovec local = { headers, 0 }, remote[SPANS];
	unsigned n = 0;
	ssize_t got;

	for (; n < SPANS && n < s->pages && at + n * PAGE < end; n++)
		remote[n] = (struct iovec){ (void *)(at + n * PAGE), HEADER }; // NOLINT
	local.iov_len = n * HEADER;
	got = n ? process_vm_readv(s->target->pid, &local, 1, remote, n, 0) : -1;
	s->pages -= n;
	for (unsigned i = 0; got > 0 && i < (size_t)got / HEADER; i++) {
		if (looks_mapped(&headers[i], end - at - i * PAGE))
			return at + i * PAGE;
	}
	return got == (ssize_t)local.iov_len ? at + n * PAGE : end;
}

static bool add_chunk(struct search *s, const struct mapped_chunk *found)
{
	struct mapped_chunks *const c = s->chunks;

	if (!array_reserve(&c->items, c->n, &c->room, sizeof(*c->items)))
		return false;
	c->items[c->n++] = *found;
	s->bytes += mapped_chunk_bytes(found);
	return true;
}

static void search_mapping(struct search *s, const struct mapping *m)
{
	uint64_t at = m->start, heap_end;

	while (at < m->end && s->pages && !is_done(s)) {
		struct mapped_chunk found;

		if (s->in_heap(s->context, at, &heap_end)) {
			at = heap_end;
		} else if (chunk_of(s, at, m->end, &found)) {
			if (!add_chunk(s, &found))
				return;
			at += mapped_chunk_bytes(&found);
		} else {
			at = next_page(s, at + PAGE, m->end);
		}
	}
}

/* Mappings of malloc have no name, or one that the program has been told to give them. */
static bool is_anonymous(const struct mapping *m)
{
	return m->writable && !m->executable && m->inode == 0 &&
	       (!*m->path || strncmp(m->path, "[anon:", 6) == 0);
}

void mapped_chunks_find(struct mapped_chunks *c, struct target *target, const struct glibc_mapped *wanted,
			is_heap *in_heap, const void *context)
{
	struct search s = { .chunks = c,
			    .target = target,
			    .wanted = wanted,
			    .in_heap = in_heap,
			    .context = context,
			    .pages = PAGES_MOST };

	c->n = 0;
	for (uint32_t i = 0; i < target->n_mappings && !is_done(&s); i++) {
		if (is_anonymous(&target->mappings[i]))
			search_mapping(&s, &target->mappings[i]);
	}
}

/* ---- looking again ---- */

void mapped_chunks_look(struct mapped_chunks *c, const struct target *target)
{
	for (uint32_t i = 0; i < c->n; i += SPANS) {
		const unsigned n = c->n - i < SPANS ? c->n - i : SPANS;
		struct glibc_chunk headers[SPANS];
		struct iovec local = { headers, n * HEADER }, remote[SPANS];
		ssize_t got;

		for (unsigned k = 0; k < n; k++)
			remote[k] = (struct iovec){ (void *)c->items[i + k].address, HEADER }; // NOLINT
		got = process_vm_readv(target->pid, &local, 1, remote, n, 0);
		for (unsigned k = 0; k < n; k++)
			c->items[i + k].there = got >= (ssize_t)((k + 1) * HEADER) &&
						memcmp(&headers[k], &c->items[i + k].chunk, HEADER) == 0;
	}
}
