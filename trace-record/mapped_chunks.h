/* SPDX-License-Identifier: MIT */
/*
 * The blocks for which glibc's malloc has made a mapping each. No list has them: they are found by what the beginning of such a
 * mapping looks like, and malloc's counts say whether these are all.
 */
#ifndef TRACE_RECORD_MAPPED_CHUNKS_H
#define TRACE_RECORD_MAPPED_CHUNKS_H

#include "glibc_heap.h"

struct mapped_chunk {
	uint64_t address;         /* of the chunk */
	struct glibc_chunk chunk; /* what was found there */
	bool there;               /* at the last look, too */
	bool cached;              /* free, in a thread's cache: since glibc 2.42 */
};

/* Zero-initialise. */
struct mapped_chunks {
	struct mapped_chunk *items;
	uint32_t n, room;
};

void mapped_chunks_finish(struct mapped_chunks *chunks);

/* Whether an address is in another part of malloc's heap, which ends at *end. */
typedef bool is_heap(const void *context, uint64_t address, uint64_t *end);

/* Looks for as many as `wanted` says, in the target's mappings as it last looked at them. The process may run. */
void mapped_chunks_find(struct mapped_chunks *chunks, struct target *target,
			const struct glibc_mapped *wanted, is_heap *in_heap, const void *context);

/* Looks whether they are still there, when the process stands still. */
void mapped_chunks_look(struct mapped_chunks *chunks, const struct target *target);

/* Whether the program has it. */
bool mapped_chunk_is_live(const struct mapped_chunk *chunk);

/* A block that is in a cache, by its address; if it is none of these, nothing. */
void mapped_chunks_free(struct mapped_chunks *chunks, uint64_t block);

/* How many are there. */
struct glibc_mapped mapped_chunks_count(const struct mapped_chunks *chunks);

/* The bytes of the mapping, and of the block. */
uint64_t mapped_chunk_bytes(const struct mapped_chunk *chunk);
uint64_t mapped_chunk_usable(const struct mapped_chunk *chunk);

#endif
