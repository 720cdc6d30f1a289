/* SPDX-License-Identifier: MIT */
/*
 * The heap of glibc's malloc in another process, as its memory shows it: where malloc's state lies, and its structures. No
 * symbol names them, so they are found by what they must look like. All that is read is hostile input.
 */
#ifndef TRACE_RECORD_GLIBC_HEAP_H
#define TRACE_RECORD_GLIBC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target.h"
#include "target_object.h"

#define GLIBC_FASTBINS 10u
#define GLIBC_BINS 127u /* without number 0 */
#define GLIBC_HEAP_BYTES (UINT64_C(64) << 20)
#define GLIBC_TCACHE_BINS 76u
#define GLIBC_TCACHE_SMALL 64u /* bins of one size each, which are all until 2.41 */
#define GLIBC_ALIGNMENT 16u
#define GLIBC_CHUNK_LEAST 32u

/* The low bits of a chunk's size. */
enum {
	CHUNK_PREV_IN_USE = 1,
	CHUNK_IS_MMAPPED = 2,
	CHUNK_NON_MAIN = 4,
	CHUNK_BITS = 7,
};

/* struct malloc_state of 2.31 to 2.41. Without fastbins, it has neither have_fastchunks nor the hole. */
struct glibc_arena {
	int32_t mutex, flags;
	int32_t have_fastchunks, hole;
	uint64_t fastbins[GLIBC_FASTBINS];
	uint64_t top, last_remainder;
	uint64_t bins[2 * GLIBC_BINS];
	uint32_t binmap[4];
	uint64_t next, next_free, attached_threads, system_mem, max_system_mem;
};

/* heap_info, at each multiple of GLIBC_HEAP_BYTES that is a heap of an arena but the main one. */
struct glibc_heap_info {
	uint64_t arena, prev, size, usable_size;
};

/* struct tcache_perthread_struct. Since 2.42 that has how many blocks may come, here are those that are there. */
struct glibc_tcache {
	uint16_t counts[GLIBC_TCACHE_BINS];
	uint64_t entries[GLIBC_TCACHE_BINS];
};

/* The beginning of a chunk; the block is behind it. */
struct glibc_chunk {
	uint64_t prev_size, head;
};

static inline uint64_t glibc_chunk_size(const struct glibc_chunk *chunk)
{
	return chunk->head & ~(uint64_t)CHUNK_BITS;
}

/* What malloc_par counts. */
struct glibc_mapped {
	uint64_t blocks, bytes;
};

/* Addresses in the process. */
struct glibc_heap {
	unsigned version;      /* 36 is 2.36 */
	bool no_fastbins;      /* its arenas have none */
	uint64_t cache_blocks; /* in a bin of a tcache, at most; from 2.42 on */
	uint64_t main_arena;
	uint64_t parameters;     /* of sbrk_base in malloc_par; 0: the main arena is not in use */
	uint64_t errno_offset;   /* what is added to the thread pointer */
	uint64_t data, data_end; /* libc's variables */
};

/* Finds it. NULL, or why not: the end of a sentence about the blocks that are not known. */
const char *glibc_heap_find(struct glibc_heap *heap, struct target *target, const struct target_object *libc);

/* False: it cannot be read. */
bool glibc_heap_read_arena(const struct glibc_heap *heap, struct target *target, uint64_t address,
			   struct glibc_arena *arena);

/* The bytes of a tcache, and what they say. */
size_t glibc_heap_tcache_bytes(const struct glibc_heap *heap);
void glibc_heap_parse_tcache(const struct glibc_heap *heap, const uint8_t *bytes,
			     struct glibc_tcache *tcache);

/* malloc_par by now. False: it is none any more. */
bool glibc_heap_parameters(const struct glibc_heap *heap, struct target *target, uint64_t *sbrk_base,
			   struct glibc_mapped *mapped);

/* The first chunk of a heap of an arena; `own`: the arena lies in that heap, too. */
uint64_t glibc_heap_first_chunk(const struct glibc_heap *heap, uint64_t heap_info, bool own);

/* A link of a list of free blocks, which lies at an address. */
static inline uint64_t glibc_link(const struct glibc_heap *heap, uint64_t address, uint64_t link)
{
	return heap->version >= 32 ? link ^ address >> 12 : link;
}

#endif
