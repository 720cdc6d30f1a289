/* SPDX-License-Identifier: MIT */
/*
 * The heap census: which blocks of glibc's malloc are live in a process at one time, seen from outside (docs/internals/attach.md).
 * In order: create; prepare, as the process runs; take, while all threads stand still; read, as they run again.
 */
#ifndef TRACE_RECORD_CENSUS_H
#define TRACE_RECORD_CENSUS_H

#include "glibc_heap.h"
#include "heap_walk.h"
#include "mapped_chunks.h"
#include "ptrace_threads.h"

struct census_arena {
	uint64_t address;
	struct glibc_arena state;
	bool sound;      /* all its chunks were found */
	uint64_t in_use; /* bytes of chunks that are in use for malloc: those in caches of threads, too */
};

/* How it went. */
struct census_result {
	const struct heap_block *blocks; /* those of 0 bytes don't count; until the census is destroyed */
	size_t n_blocks;
	const struct mapped_chunk *mapped; /* those that are live count */
	uint32_t n_mapped;
	const struct census_arena *arenas;
	uint32_t n_arenas;
	uint64_t live, live_bytes; /* blocks that count, and what is usable in them */
	uint64_t heap_bytes;       /* that were walked through */
	uint64_t unknown_bytes;    /* of heaps that could not be read */
	uint64_t unknown_mapped;   /* blocks with a mapping of their own that were not found */
	bool while_running;        /* the heap was too large to be copied while the process stood still */
	bool cut;                  /* there was no time for all of it */
};

struct census;

/* NULL: no memory. */
struct census *census_create(const struct glibc_heap *heap, struct target *target);
void census_destroy(struct census *census); /* NULL is allowed */

/* Looks how much there is, and makes room. The target has looked at its mappings. */
void census_prepare(struct census *census);

/* Notes, and copies, what there is. */
void census_take(struct census *census, const struct stopped_threads *threads);

/* False: nothing is known. */
bool census_read(struct census *census, struct census_result *result);

#endif
