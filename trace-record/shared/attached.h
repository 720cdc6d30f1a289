/* SPDX-License-Identifier: MIT */
/*
 * What msrec and the recorder that it brings into a running program say to each other (docs/internals/attach.md).
 *
 * msrec calls msrec_attach() in one of the program's threads with a request, and reads `msrec_attached`, which stays when
 * msrec is gone: by it this msrec, or a later one, finds the entries that lead to the recorder.
 */
#ifndef TRACE_RECORD_ATTACHED_H
#define TRACE_RECORD_ATTACHED_H

#include <stdint.h>

#include "entry_plan.h"

#define ATTACHED_MAGIC 0x6863617474616d73ull
#define ATTACHED_OBJECTS 2u /* libraries with entries: the allocator's, and libc */
#define ATTACHED_PATH 64u

/* An object whose entries are [first, first + n) of the family's plan. */
struct attach_object {
	uint64_t start, end; /* the mapped range */
	uint32_t first, n;
};

struct attach_request {
	char path[ATTACHED_PATH]; /* of the family's memory, as the program finds it */
	uint32_t n_objects;
	struct attach_object objects[ATTACHED_OBJECTS];
};

/* The result of msrec_attach(). */
enum attach_status {
	ATTACH_DONE = 0,
	ATTACH_BUSY,       /* a recorder is at work in the process */
	ATTACH_NO_ENTRIES, /* the entries are not as planned, or there is no room near them */
	ATTACH_NO_FAMILY,  /* the shared memory cannot be mapped, or is not this version's */
};

/* An entry; it leads to the recorder while the first bytes at `address` are a jump to `piece`. */
struct attached_entry {
	uint64_t address, piece;
	uint8_t n_displaced;
	uint8_t original[ENTRY_JUMP_BYTES];
	uint8_t jump[ENTRY_JUMP_BYTES];
};

/* Memory of pieces, [start, end), for the object at `near`. */
struct attached_pieces {
	uint64_t start, end, near;
};

/* A pointer of the program's that leads to the recorder while it is `ours`; at 0: there is none. */
struct attached_pointer {
	uint64_t at, ours, original;
};

/* Written by msrec_attach() alone, while no entry leads to the recorder. */
struct attached {
	uint64_t magic;
	uint64_t pointer; /* the address of a struct attached_pointer, which changes later */
	uint32_t n, n_pieces;
	struct attached_pieces pieces[ATTACHED_OBJECTS];
	struct attached_entry entries[ENTRY_MOST];
};

#endif
