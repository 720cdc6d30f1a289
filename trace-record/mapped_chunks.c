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

/* In front of an aligned block some of the mapping is not used, and prev_size says how much. Its lowest bit is another flag. */
static uint64_t bytes_before(const struct glibc_chunk *chunk)
{
	return chunk->prev_size & ~UINT64_C(1);
}

/* A mapping ends with its chunk; since glibc 2.43 it has a header's bytes more, of which the block has the first word. */
static uint64_t bytes_behind(const struct glibc_chunk *chunk)
{
	return -(bytes_before(chunk) + glibc_chunk_size(chunk)) % PAGE;
}

uint64_t mapped_chunk_bytes(const struct mapped_chunk *c)
{
	return bytes_before(&c->chunk) + glibc_chunk_size(&c->chunk) + bytes_behind(&c->chunk);
}

uint64_t mapped_chunk_usable(const struct mapped_chunk *c)
{
	return glibc_chunk_size(&c->chunk) - (bytes_behind(&c->chunk) ? 8 : HEADER);
}

bool mapped_chunk_is_live(const struct mapped_chunk *c)
{
	return c->there && !c->cached;
}

static int compare_address(const void *address, const void *chunk)
{
	const uint64_t wanted = *(const uint64_t *)address,
		       here = ((const struct mapped_chunk *)chunk)->address;

	return wanted < here ? -1 : wanted > here;
}

/* They are in the order of their addresses, as the target's mappings are. */
void mapped_chunks_free(struct mapped_chunks *c, uint64_t block)
{
	const uint64_t address = block - HEADER;
	struct mapped_chunk *found =
		c->n ? bsearch(&address, c->items, c->n, sizeof(*c->items), compare_address) : NULL;

	if (found)
		found->cached = true;
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
	       s->bytes >= (s->wanted->bytes + PAGE - 1) / PAGE * PAGE;
}

/* Whether a chunk lies `before` bytes behind the start of a mapping with room for `most` bytes. */
static bool is_mapped(const struct glibc_chunk *chunk, uint64_t before, uint64_t most)
{
	const uint64_t size = glibc_chunk_size(chunk), behind = bytes_behind(chunk);

	return (chunk->head & CHUNK_BITS) == CHUNK_IS_MMAPPED && bytes_before(chunk) == before &&
	       size >= GLIBC_CHUNK_LEAST && size % GLIBC_ALIGNMENT == 0 && behind <= HEADER &&
	       size <= most - before && behind <= most - before - size;
}

/* Where the chunk of a block with that alignment lies in a mapping. The start is one of a page. */
static uint64_t chunk_before(uint64_t start, uint64_t alignment)
{
	return ((start + HEADER + alignment - 1) & ~(alignment - 1)) - HEADER - start;
}

/* Whether there is a chunk so many bytes behind the start. */
static bool chunk_at(const struct search *s, uint64_t start, uint64_t before, uint64_t end,
		     struct mapped_chunk *found)
{
	*found = (struct mapped_chunk){ .address = start + before, .there = true };
	return before < end - start && target_read(s->target, found->address, &found->chunk, HEADER) &&
	       is_mapped(&found->chunk, before, end - start);
}

/*
 * The chunk of a mapping that begins here. Where an aligned block was asked for, the first chunk has been cut, and its size
 * is still there: so aligned ones come first.
 */
static bool chunk_of(const struct search *s, uint64_t start, uint64_t end, struct mapped_chunk *found)
{
	for (uint64_t alignment = 2 * GLIBC_ALIGNMENT; alignment < end - start; alignment *= 2) {
		const uint64_t before = chunk_before(start, alignment);

		/* Where too little is left for a chunk, glibc 2.41 and before take the next place. */
		if (before &&
		    (chunk_at(s, start, before, end, found) ||
		     (before < GLIBC_CHUNK_LEAST && chunk_at(s, start, before + alignment, end, found))))
			return true;
	}
	return chunk_at(s, start, 0, end, found);
}

/* Whether a page that begins so may be the start of such a mapping. */
static bool looks_mapped(const struct glibc_chunk *chunk, uint64_t most)
{
	return bytes_before(chunk) == 0 && (chunk->head & CHUNK_BITS) == CHUNK_IS_MMAPPED &&
	       glibc_chunk_size(chunk) && bytes_behind(chunk) <= HEADER && glibc_chunk_size(chunk) <= most;
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
